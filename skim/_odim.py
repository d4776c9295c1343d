"""ODIM: stop each member where its losses separate best."""

import math
from numbers import Integral

import numpy as np
from sklearn.utils._param_validation import Interval

from skim._vae import VAEDetector
from skim.separation import separation

PATIENCE_UPDATES = 100
MAX_UPDATES_BETWEEN_CHECKS = 10


class ODIMDetector(VAEDetector):
    """DOC

    """

    _parameter_constraints: dict = {
        **VAEDetector._parameter_constraints,
        "probe_size": [Interval(Integral, 2, None, closed="left"), None],
    }

    def __init__(
        self,
        *,
        n_estimators=10,
        n_importance=1,
        epochs=1000,
        batch_size=64,
        patience=100,
        min_updates=0,
        probe_size=512,
        learning_rate=1e-3,
        weight_decay=5e-7,
        scaling="squash",
        ema_steps=0,
        ema_decay=0.999,
        contamination="auto",
        random_state=None,
        n_jobs=None,
        device="cpu",
        verbose=0,
    ):
        self.n_estimators = n_estimators
        self.n_importance = n_importance
        self.epochs = epochs
        self.batch_size = batch_size
        self.patience = patience
        self.min_updates = min_updates
        self.probe_size = probe_size
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.scaling = scaling
        self.ema_steps = ema_steps
        self.ema_decay = ema_decay
        self.contamination = contamination
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.device = device
        self.verbose = verbose

    @classmethod
    def paper(cls, **params):
        """P"""
        settings = {"n_importance": 50, "probe_size": None, "scaling": "minmax"}
        return cls(**(settings | params))

    def _n_entries(self):
        return None

    def _first_batch_size(self):
        return self.batch_size

    def _train(self, run, monitor):
        import torch

        batches_per_epoch = max(run.n_rows // self.batch_size, 1)
        check_every = min(MAX_UPDATES_BETWEEN_CHECKS, batches_per_epoch)
        patience = math.ceil(self.patience / check_every)
        noise = torch.from_numpy(self.noise_).to(self.device_)
        probe = None
        if self.probe_size is not None:
            probe = run.draw_rows(self.probe_size)

        best = np.full(self.n_estimators, -np.inf)
        kept = run.state()
        since_best = np.zeros(self.n_estimators, dtype=int)
        active = torch.arange(self.n_estimators, device=self.device_)
        for epoch in range(1, self.epochs + 1):
            for batch in range(1, batches_per_epoch + 1):
                run.update(self.batch_size)
                if batch % check_every:
                    continue
                x = run.batch if probe is None else probe
                losses = run.fixed_losses(x, noise[active])
                run.check_finite(losses)
                now = active.cpu().numpy()
                found = separation(losses.cpu().numpy())
                if run.n_updates < self.min_updates: found[:] = -np.inf
                improved = found > best[now]
                best[now] = np.maximum(best[now], found)
                since_best[now] = np.where(improved, 0, since_best[now] + 1)
                if run.n_updates < self.min_updates: since_best[:] = 0
                for kept_part, part in zip(kept, run.state(), strict=True):
                    mask = torch.from_numpy(improved).to(self.device_)
                    kept_part[active[mask]] = part[mask]
                stop = monitor.record(
                    epoch=epoch,
                    update=run.n_updates,
                    losses=losses,
                    separation=found.mean(),
                )
                going = torch.from_numpy(since_best[now] < patience).to(self.device_)
                if stop or not going.any():
                    run.snapshots = [kept]
                    self.n_upd = run.n_updates
                    return
                if not going.all():
                    active = active[going]
                    run.select(going.nonzero().flatten())
        run.snapshots = [kept]
