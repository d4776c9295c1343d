"""Embedding tables with a network that is trained on the table itself."""

from numbers import Integral
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    _fit_context,
)
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted, validate_data

from skim import _nets as nets
from skim._model._scaling import InputScaler
from skim._utils import Versioned, own_random_state


class ContrastiveEmbedder(
    Versioned, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator
):
    """Embed tables with a network that is trained on the table itself.

    Useful if no foundation model is available. A small network learns, without
    labels, to recognise two corrupted views of the same row among views of other
    rows [1]_. In a view, about half of the values are replaced by those of a nearby
    row. Rows are contrasted only with the half of the batch that is further away, so
    nearby rows can move together: the variation within clusters shrinks relative to
    the distances between them, which makes the inlier-memorization effect last longer.

    Parameters
    ----------
    n_components : int, default=16
        Number of output features.

    n_updates : int, default=200
        Number of training updates, each with at most 128 rows, whatever the size of
        the table.

    random_state : int, RandomState instance or None, default=None
        Controls the initial weights, the batches and the views. Pass an int for
        reproducible results across multiple function calls.

    Attributes
    ----------
    coefs_, intercepts_ : list of ndarray
        Weights, of shape (n_out, n_in), and biases of the three layers of the encoder,
        with ReLU activations between them.

    loss_curve_ : ndarray of shape (n_updates,)
        Loss at each update.

    n_features_in_ : int
        Number of features seen during `fit`.

    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during `fit`. Defined only when `X` has
        feature names that are all strings.

    See Also
    --------
    skim.theory.cluster_geometry : Measures clusters before and after embedding.

    Notes
    -----
    Unlike in [1]_, there is no projection head, replacement values come from nearby
    rows, and rows are contrasted with far rows only: otherwise, the clusters of
    low-dimensional tables became wider. Tighter clusters do not imply better detection;
    the :doc:`user guide </embedding>` has results.

    References
    ----------
    .. [1] D. Bahri, H. Jiang, Y. Tay and D. Metzler, "SCARF: Self-Supervised
           Contrastive Learning using Random Feature Corruption", International
           Conference on Learning Representations, 2022.

    Examples
    --------
    >>> from skim.datasets import load_wine_outliers
    >>> from skim.embedding import ContrastiveEmbedder
    >>> X, y = load_wine_outliers(return_X_y=True)
    >>> ContrastiveEmbedder(random_state=0).fit_transform(X).shape
    (129, 16)
    """

    _parameter_constraints: dict = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "n_updates": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        *,
        n_components: int = 16,
        n_updates: int = 200,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_components = n_components
        self.n_updates = n_updates
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Train the encoder on unlabelled data.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The training data, including outliers.

        y : Ignored
            Not used, present for API consistency by convention.

        Returns
        -------
        self : object
        """
        rows = self._validate(X, reset=True, ensure_min_samples=2)
        # Centred, and of about unit variance.
        scaler = InputScaler("squash", centred=True, factor=3.0).fit(rows)
        seed = own_random_state(self.random_state).randint(2**31 - 1)
        layers, losses = nets.train_encoder(
            scaler.transform(rows), self.n_components, self.n_updates, seed
        )
        self._scaler = scaler
        self.coefs_ = [weight for weight, _ in layers]
        self.intercepts_ = [bias for _, bias in layers]
        self.loss_curve_ = np.array(losses)
        self._n_features_out = self.n_components
        return self

    def transform(self, X: ArrayLike) -> NDArray[np.floating]:
        """Embed rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to embed.

        Returns
        -------
        embedding : ndarray of shape (n_samples, n_components)
            In single precision if `X` is, in double precision otherwise.
        """
        check_is_fitted(self)
        rows = self._validate(X, reset=False)
        layers = zip(self.coefs_, self.intercepts_, strict=True)
        embedding = nets.encode(self._scaler.transform(rows), list(layers))
        return embedding.astype(rows.dtype, copy=False)

    def _validate(self, X, **options):
        return validate_data(self, X, dtype=[np.float64, np.float32], **options)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
