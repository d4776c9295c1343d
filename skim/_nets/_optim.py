"""Optimisers on flat parameter blocks."""

import math

import torch


class Adam:
    """Adam with L2 weight decay on one ``(M, P)`` block of weights."""

    def __init__(self, weights, *, learning_rate, weight_decay=0.0):
        self.weights = weights
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self._mean = torch.zeros_like(weights)
        self._square = torch.zeros_like(weights)
        self._scratch = torch.empty_like(weights)
        self._n_steps = 0

    def step(self, grad, beta_1=0.9, beta_2=0.999, eps=1e-8):
        """Move the weights against `grad`, which is used up."""
        self._n_steps += 1
        grad.add_(self.weights, alpha=self.weight_decay)
        self._mean.lerp_(grad, 1 - beta_1)
        self._square.mul_(beta_2).addcmul_(grad, grad, value=1 - beta_2)
        correction = math.sqrt(1 - beta_2**self._n_steps)
        denominator = torch.sqrt(self._square, out=self._scratch)
        denominator.add_(eps * correction)
        size = self.learning_rate * correction / (1 - beta_1**self._n_steps)
        self.weights.addcdiv_(self._mean, denominator, value=-size)

    def export(self):
        """Return what is needed to go on with other weights of the same shape."""
        return {
            "gradient_mean": self._mean,
            "gradient_square": self._square,
            "n_steps": self._n_steps,
        }

    def restore(self, parts):
        """Take up what another optimiser exported."""
        self._mean.copy_(parts["gradient_mean"])
        self._square.copy_(parts["gradient_square"])
        self._n_steps = parts["n_steps"]

    def select(self, weights, members):
        """Return the optimiser of only the given members, on their `weights`."""
        chosen = Adam(
            weights,
            learning_rate=self.learning_rate,
            weight_decay=self.weight_decay,
        )
        chosen._mean = self._mean[members]
        chosen._square = self._square[members]
        chosen._n_steps = self._n_steps
        return chosen


class GradientDescent:
    """Plain gradient descent on one ``(M, P)`` block of weights."""

    def __init__(self, weights, *, learning_rate):
        self.weights = weights
        self.learning_rate = learning_rate

    def step(self, grad):
        """Move the weights against `grad`."""
        self.weights.add_(grad, alpha=-self.learning_rate)

    def export(self):
        """Return what is needed to go on with other weights: nothing."""
        return {}

    def restore(self, parts):
        """Take up what another optimiser exported."""
