"""
A network of your own
=====================

Any torch module that gives every row a loss can be a detector. It is trained with the
schedule of ALTBI, and everything that works with the other detectors works with it.
"""

# %%
# The module takes rows with features in [0, 1] and returns one loss per row, here minus
# the log-likelihood of a mixture of normal distributions. The detector makes one for
# each member of the ensemble, so it is given the class and not a module.

import torch
from torch import nn

from skim import NetworkDetector
from skim.datasets import make_im_clusters
from skim.inspection import IMTrajectoryDisplay
from skim.schedules import ALTBISchedule


class Mixture(nn.Module):
    """Mixture of normal distributions."""

    def __init__(self, n_features, n_components=20):
        super().__init__()
        self.means = nn.Parameter(torch.rand(n_components, n_features))
        self.log_std = nn.Parameter(torch.full((n_components, n_features), -1.0))
        self.logits = nn.Parameter(torch.zeros(n_components))

    def forward(self, x):
        """Return the loss of each row."""
        z = (x.unsqueeze(1) - self.means) * (-self.log_std).exp()
        log_density = -(0.5 * z.square() + self.log_std).sum(2)
        return -torch.logsumexp(log_density + self.logits.log_softmax(0), dim=1)


# %%
# The window of the effect is shaded. A mixture with few components has no room for
# the outliers, so the window does not close.

X, y, _ = make_im_clusters(cluster_std=2.5, random_state=0)
schedule = ALTBISchedule(patience=None)  # train for all epochs
detector = NetworkDetector(Mixture, epochs=150, schedule=schedule, random_state=0)
display = IMTrajectoryDisplay.from_estimator(detector, X, y)

# %%
# It has no terms of its own for the features, so explanations come from gradients.

detector.fit(X)
print(detector.explain(X[:3], relative=True).round(1))
