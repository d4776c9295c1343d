"""What a module must do to be trained and scored as a detector's network."""

import torch

from skim._nets._module import own_random_numbers

N_ROWS = 8


def check_module(shape):
    """Refuse, before any training, a module that cannot be a detector's network."""
    generator = torch.Generator().manual_seed(0)
    size = N_ROWS, shape.n_features
    rows = torch.rand(size, generator=generator, dtype=torch.float32)
    rows[0], rows[1] = 0.0, 1.0  # the ends of the range of scaled features
    module = shape.template.module
    with own_random_numbers(generator):
        _check_training(module.train(), rows)
        with torch.no_grad():
            _check_evaluation(module.eval(), rows)
            if shape.has_feature_losses:
                terms = module.feature_losses(rows)
                _check_output(terms, rows.shape, "feature_losses", "per cell")
    _check_stacked(shape, rows, generator)


def _check_training(module, rows):
    losses = module(rows)
    _check_output(losses, (N_ROWS,), "forward", "per row")
    trained = [p for p in module.parameters() if p.requires_grad]
    if not trained:
        raise ValueError("The network has no parameters to train.")
    gradients: tuple = ()
    if losses.requires_grad:
        weights = torch.linspace(1, 2, N_ROWS, dtype=losses.dtype)
        gradients = torch.autograd.grad(losses, trained, weights, allow_unused=True)
    gradients = tuple(each for each in gradients if each is not None)
    if not any(each.any() for each in gradients):
        raise ValueError(
            "The network's losses have no gradient in its parameters; compute them "
            "with operations that torch can differentiate, and without `detach`."
        )
    if not all(each.isfinite().all() for each in gradients):
        raise ValueError(
            "The gradient of the network's losses is not finite for features in "
            "[0, 1]; avoid divisions by zero and roots of zero."
        )


def _check_evaluation(module, rows):
    losses = module(rows)
    _check_output(losses, (N_ROWS,), "forward", "per row")
    if not torch.equal(losses, module(rows)):
        raise ValueError(
            "The network is not deterministic in evaluation mode; draw random numbers "
            "only if `self.training`, or once in the constructor, as a buffer."
        )
    some = N_ROWS // 2
    # Fewer rows may be rounded differently.
    if not torch.allclose(losses[:some], module(rows[:some]), rtol=1e-3, atol=1e-4):
        raise ValueError(
            "The loss of a row depends on the other rows in evaluation mode; use "
            "statistics of the batch only if `self.training`."
        )


def _check_stacked(shape, rows, generator):
    x = rows.T.expand(2, -1, -1)
    try:
        weights = shape.draw_weights(2, generator)
        for training in (True, False):
            with own_random_numbers(generator):
                network = shape.stack(weights, generator)
                arrays = shape.arrays(weights, network.statistics)
                shape.call(arrays, x, training=training)
                if shape.has_feature_losses:
                    shape.call(arrays, x, "feature_losses", training=training)
    except RuntimeError as error:
        reason = str(error).strip().partition("\n")[0]
        raise ValueError(
            f"The network cannot be stacked by torch.func.vmap: {reason}"
        ) from error


def _check_output(out, shape, method, what):
    """Refuse an output that is not one finite number for each row or cell."""
    if not torch.is_tensor(out) or out.shape != shape:
        found = tuple(out.shape) if torch.is_tensor(out) else type(out).__name__
        raise ValueError(
            f"The network's `{method}` must return one number {what}, a tensor of "
            f"shape {tuple(shape)} for {N_ROWS} rows, but returned {found}."
        )
    if not out.isfinite().all():
        raise ValueError(
            f"The network's `{method}` returned NaN or infinity for features in [0, 1]."
        )
