"""Rows of the data on their way into the networks."""

import torch


class RowStream:
    """Endless shuffled passes over the rows, each member in its own order.

    A batch never holds a row twice: where too few rows are left for a whole
    batch, the rows are shuffled anew.

    Parameters
    ----------
    X : Tensor of shape (n, p)
    n_members : int
    generator : torch.Generator
    """

    def __init__(self, X, n_members, generator):
        self.X = X
        self.n_members = n_members
        self.generator = generator
        self._position = len(X)

    def take(self, size):
        """Return the next batch, of shape (M, p, size); `size` is at most n."""
        n_rows = len(self.X)
        if self._position + size > n_rows:
            self._orders = torch.stack(
                [
                    torch.randperm(
                        n_rows, generator=self.generator, device=self.X.device
                    )
                    for _ in range(self.n_members)
                ]
            )
            self._position = 0
        rows = self._orders[:, self._position : self._position + size]
        self._position += size
        batch = torch.nn.functional.embedding(rows, self.X)
        return batch.transpose(1, 2).contiguous()

    def export(self):
        """Return where the stream is."""
        if self._position >= len(self.X):
            return {}
        return {"orders": self._orders, "position": self._position}

    def restore(self, parts):
        """Go to where another stream was, if it had as many rows."""
        if "orders" in parts and parts["orders"].shape[1] == len(self.X):
            self._orders, self._position = parts["orders"], parts["position"]

    def select(self, members):
        """Go on with only the given members."""
        self.n_members = len(members)
        if self._position < len(self.X):
            self._orders = self._orders[members]


def in_chunks(X, size):
    """Cut rows into transposed chunks of one fixed size, the last one padded.

    Fixed shapes keep the arithmetic of a row the same wherever it stands and
    however many rows come with it.

    Parameters
    ----------
    X : Tensor of shape (n, p)
    size : int

    Returns
    -------
    chunks : Tensor of shape (n_chunks, p, size)
    """
    n_rows, n_features = X.shape
    n_chunks = -(-n_rows // size)
    padded = X.new_zeros(n_chunks * size, n_features)
    padded[:n_rows] = X
    return padded.view(n_chunks, size, n_features).transpose(1, 2).contiguous()
