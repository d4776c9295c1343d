"""A stack of importance-weighted variational autoencoders.

The members share nothing but their shape: every weight carries a leading member
axis and every layer is one batched matrix product. Activations are stored with
the rows of the data on the last axis, so that even narrow layers run over long
contiguous vectors. Gradients are written out by hand, because at these sizes
automatic differentiation costs several times the arithmetic.
"""

import math

import torch

from skim._nets import _memory
from skim._nets._memory import Layout, Workspace, fill_terms, filled

EPS = 1e-4  # added to batch variances
MOMENTUM = 0.1  # of the running batch statistics
SLOPE = 0.01  # of the leaky rectifier
LOG_VAR_RANGE = (-6.0, 2.0)

# The blocks linear -> batch norm -> leaky rectifier, in forward order.
BLOCKS = ("encode_1", "encode_2", "decode_1", "decode_2")


class VAEShape:
    """What the weights of a member look like, and how a fixed member scores."""

    def __init__(self, n_features, hidden, n_latent, n_samples=1, fill=None):
        wide, narrow = hidden
        self.n_features = n_features
        self.n_latent = n_latent
        self.n_samples = n_samples
        self.fill = fill
        self.widest = max(2 * n_features, wide)
        self.widths = dict(zip(BLOCKS, (wide, narrow, narrow, wide), strict=True))
        # The two heads stack the rows of their mean upon those of their
        # log-variance; only the latter have a bias.
        self.weights = Layout(
            {
                "encode_1": (wide, n_features),
                "encode_2": (narrow, wide),
                "latent": (2 * n_latent, narrow),
                "latent_bias": (n_latent, 1),
                "decode_1": (narrow, n_latent),
                "decode_2": (wide, narrow),
                "output": (2 * n_features, wide),
                "output_bias": (n_features, 1),
            }
        )
        self.statistics = Layout(
            {
                f"{block}_{moment}": (width, 1)
                for block, width in self.widths.items()
                for moment in ("mean", "var")
            }
        )

    def draw_weights(self, n_members, generator):
        """Draw the initial weights of members."""
        return self.weights.draw(n_members, generator)

    def stack(self, weights, generator):
        """Return members with these weights, ready to be trained."""
        return StackedVAE(self, weights, generator)

    def draw_noise(self, n_members, generator):
        """Draw the latent noise, (M, L, K), that all rows are scored with.

        A single code is taken at its mean.
        """
        shape = n_members, self.n_latent, self.n_samples
        noise = torch.zeros(shape, dtype=torch.float32, device=generator.device)
        return noise.normal_(generator=generator) if self.n_samples > 1 else noise

    def fold(self, weights, statistics, noise):
        """Make fixed members, with the running statistics merged into the weights."""
        w = self.weights.views(weights)
        running = self.statistics.views(statistics)
        folded = {name: w[name] for name in w if name not in BLOCKS}
        folded["noise"] = noise
        for name in BLOCKS:
            inv_std = (running[f"{name}_var"] + EPS).rsqrt()
            folded[name] = (w[name] * inv_std).contiguous()
            folded[f"{name}_bias"] = -running[f"{name}_mean"] * inv_std
        return folded

    def losses(self, folded, x, workspace, *, terms=False, gaps="nothing"):
        """Losses of rows under fixed members."""
        noise = folded["noise"]
        n_members, n_latent, n_samples = noise.shape
        x, missing = filled(x, self.fill)
        x = x.expand(n_members, -1, -1)
        n_rows = x.shape[2]
        take = workspace.take

        def block(name, inputs):
            out = take(name, n_members, self.widths[name], inputs.shape[2])
            torch.baddbmm(folded[f"{name}_bias"], folded[name], inputs, out=out)
            return torch.nn.functional.leaky_relu_(out, SLOPE)

        h = block("encode_2", block("encode_1", x))
        mean, log_var = _head(folded, "latent", h, take)
        log_var.clamp_(*LOG_VAR_RANGE)
        shape = (n_members, n_latent, n_samples, n_rows)
        z = take("z", *shape)
        torch.mul((0.5 * log_var).exp_().unsqueeze(2), noise.unsqueeze(3), out=z)
        z += mean.unsqueeze(2)

        h = block("decode_2", block("decode_1", z.flatten(2)))
        m, v = _head(folded, "output", h, take)
        v.clamp_(*LOG_VAR_RANGE)
        shape = (n_members, self.n_features, n_samples, n_rows)
        squared = take("squared", *shape)
        torch.sub(x.unsqueeze(2), m.sigmoid_().view(shape), out=squared)
        squared.square_()
        precision = torch.neg(v, out=take("precision", *v.shape)).exp_().view(shape)
        per_feature = v.view(shape).addcmul_(squared, precision, value=0.5)
        if missing is not None:
            missing = missing.expand(n_members, -1, -1).unsqueeze(2)
            fill_terms(per_feature, missing, gaps)

        log_ratio = per_feature.sum(1).neg_()
        log_ratio += 0.5 * noise.square().sum(1).unsqueeze(2)
        log_ratio -= 0.5 * z.square_().sum(1)
        log_ratio += 0.5 * log_var.sum(1).unsqueeze(1)
        losses = math.log(n_samples) - torch.logsumexp(log_ratio, dim=1)
        if not terms:
            return losses
        share = torch.softmax(log_ratio, dim=1).unsqueeze(1)
        return losses, per_feature.mul_(share).sum(2)

    def traced_losses(self, linear, statistics, x, noise, order=1):
        """Losses of rows under fixed members, by steps that torch can follow."""
        running = self.statistics.views(statistics)
        x, missing = filled(x, self.fill)

        def block(name, inputs):
            centred = linear(name, inputs) - running[f"{name}_mean"]
            normed = centred * (running[f"{name}_var"] + EPS).rsqrt()
            return torch.nn.functional.leaky_relu(normed, SLOPE)

        def head(name, inputs):
            mean, log_var = linear(name, inputs).chunk(2, dim=1)
            return mean, log_var.clamp(*LOG_VAR_RANGE)

        mean, log_var = head("latent", block("encode_2", block("encode_1", x)))
        spread = (0.5 * log_var).exp().unsqueeze(2) * noise.unsqueeze(3)
        z = mean.unsqueeze(2) + spread
        m, v = head("output", block("decode_2", block("decode_1", z.flatten(2))))
        m, v = (part.unflatten(2, z.shape[2:]) for part in (m.sigmoid(), v))
        per_feature = v + 0.5 * (x.unsqueeze(2) - m).square() * (-v).exp()
        if missing is not None:
            per_feature = per_feature.masked_fill(missing.unsqueeze(2), 0.0)
        log_ratio = 0.5 * (noise.square().sum(1).unsqueeze(2) - z.square().sum(1))
        log_ratio = log_ratio + 0.5 * log_var.sum(1).unsqueeze(1) - per_feature.sum(1)
        log_sum = torch.logsumexp(order * log_ratio, dim=1)
        return (math.log(noise.shape[2]) - log_sum) / order


class StackedVAE:
    """Members of a VAE in training."""

    def __init__(self, shape, weights, generator):
        self.shape = shape
        self.weights = weights
        self.generator = generator
        self.has_gaps = False  # whether batches may have missing cells
        self.statistics = weights.new_zeros(len(weights), shape.statistics.size)
        for name, view in shape.statistics.views(self.statistics).items():
            view.fill_(1.0 if name.endswith("_var") else 0.0)
        self._workspace = Workspace(weights.device)
        self._views = shape.weights.views(weights)

    def forward(self, x):
        """Losses of a batch under its own batch statistics."""
        x, missing = filled(x, self.shape.fill, self.has_gaps)
        n_members, n_features, n_rows = x.shape
        n_samples, n_latent = self.shape.n_samples, self.shape.n_latent
        w, take = self._views, self._workspace.take
        cache = {"x": x, "missing": missing}
        batch_statistics: list = []

        def block(name, inputs):
            normed = take(name, n_members, w[name].shape[1], inputs.shape[2])
            torch.bmm(w[name], inputs, out=normed)
            mean, var, inv_std = _normalise(normed, take("scratch", *normed.shape))
            batch_statistics.extend((mean, var))
            cache[name] = inputs, normed, inv_std
            out = take(f"{name}_out", *normed.shape)
            return _memory.leaky_relu(normed, SLOPE, out=out)

        h = block("encode_2", block("encode_1", x))
        mean, log_var_raw = _head(w, "latent", h, take)
        log_var = log_var_raw.clamp(*LOG_VAR_RANGE)
        shape = (n_members, n_latent, n_samples, n_rows)
        noise = take("noise", *shape).normal_(generator=self.generator)
        squared_noise = torch.mul(noise, noise, out=take("z", *shape)).sum(1)
        spread = noise.mul_((0.5 * log_var).exp_().unsqueeze(2))
        z = torch.add(spread, mean.unsqueeze(2), out=take("z", *shape))
        cache["latent"] = h, log_var_raw, spread, z

        h = block("decode_2", block("decode_1", z.flatten(2)))
        m, v_raw = _head(w, "output", h, take)
        m.sigmoid_()
        shape = (n_members, n_features, n_samples, n_rows)
        v = torch.clamp(v_raw, *LOG_VAR_RANGE, out=take("v", *v_raw.shape)).view(shape)
        residual = take("residual", *shape)
        torch.sub(x.unsqueeze(2), m.view(shape), out=residual)
        if missing is not None:
            residual.masked_fill_(missing.unsqueeze(2), 0.0)
        slope = torch.neg(v, out=take("slope", *shape)).exp_().mul_(residual)
        square = residual.mul_(slope)
        cache["output"] = h, m, v_raw, slope, square

        terms = v.add_(square, alpha=0.5)
        if missing is not None:
            fill_terms(terms, missing.unsqueeze(2), "mean")
        log_ratio = terms.sum(1).neg_()
        squared_z = torch.mul(z, z, out=take("scratch", *z.shape)).sum(1)
        log_ratio.add_(squared_noise.sub_(squared_z), alpha=0.5)
        log_ratio.add_(log_var.sum(1).unsqueeze(1), alpha=0.5)
        cache["log_ratio"] = log_ratio
        self.statistics.lerp_(torch.cat(batch_statistics, 1).squeeze(2), MOMENTUM)
        if n_samples == 1:
            return log_ratio.squeeze(1).neg(), cache
        return math.log(n_samples) - torch.logsumexp(log_ratio, dim=1), cache

    def backward(self, cache, row_weights, grad):
        """Write the gradient of ``(row_weights * losses).sum()`` into `grad`."""
        w, take = self._views, self._workspace.take
        g = {}

        def linear_backward(name, inputs, grad_out):
            g[name] = torch.bmm(grad_out, inputs.transpose(1, 2))
            into = take(f"{name}_grad", *inputs.shape)
            return torch.bmm(w[name].transpose(1, 2), grad_out, out=into)

        def block_backward(name, grad_out):
            inputs, normed, inv_std = cache[name]
            _memory.leaky_relu_backward(
                grad_out, normed, SLOPE, False, grad_input=grad_out
            )
            scratch = take("scratch", *normed.shape)
            _normalise_backward(grad_out, normed, inv_std, scratch)
            if inputs is cache["x"]:
                g[name] = torch.bmm(grad_out, inputs.transpose(1, 2))
                return None
            return linear_backward(name, inputs, grad_out)

        coef = row_weights.unsqueeze(1)
        columns = None
        if self.shape.n_samples > 1:
            coef = torch.softmax(cache["log_ratio"], dim=1).mul_(coef)
            columns = _nonzero_columns(coef.flatten(1))
        coef = coef.unsqueeze(1)

        output = [part.flatten(2) for part in (*cache["output"], coef)]
        if columns is not None:
            output = [_gather(part, columns) for part in output]
        h, m, v_raw, slope, square, output_coef = output
        grad_out = take("output_grad_out", len(m), 2 * m.shape[1], m.shape[2])
        grad_m, grad_v = grad_out.chunk(2, dim=1)
        slope.mul_(output_coef).neg_()
        _memory.sigmoid_backward(slope, m, grad_input=grad_m)
        torch.addcmul(output_coef, square, output_coef, value=-0.5, out=grad_v)
        if cache["missing"] is not None:
            missing = cache["missing"].unsqueeze(2)
            missing = missing.expand(-1, -1, self.shape.n_samples, -1).flatten(2)
            missing = missing if columns is None else _gather(missing, columns)
            grad_v.masked_fill_(missing, 0.0)
        _memory.hardtanh_backward(grad_v, v_raw, *LOG_VAR_RANGE, grad_input=grad_v)
        g["output_bias"] = grad_v.sum(2)
        grad_h = linear_backward("output", h, grad_out)
        if columns is not None:
            shape = (len(m), len(h[0]), coef[0].numel())
            grad_h = _scatter(grad_h, columns, take("output_grad_all", *shape))

        h, log_var_raw, spread, z = cache["latent"]
        grad_z = block_backward("decode_1", block_backward("decode_2", grad_h))
        grad_z = grad_z.view(z.shape).addcmul_(z, coef)
        n_members, n_latent, _, n_rows = z.shape
        grad_out = take("latent_grad_out", n_members, 2 * n_latent, n_rows)
        grad_mean, grad_log_var = grad_out.chunk(2, dim=1)
        torch.sum(grad_z, 2, out=grad_mean)
        torch.sum(grad_z.mul_(spread), 2, out=grad_log_var)
        grad_log_var.sub_(row_weights.unsqueeze(1)).mul_(0.5)
        _memory.hardtanh_backward(
            grad_log_var, log_var_raw, *LOG_VAR_RANGE, grad_input=grad_log_var
        )
        g["latent_bias"] = grad_log_var.sum(2)
        grad_h = linear_backward("latent", h, grad_out)
        block_backward("encode_1", block_backward("encode_2", grad_h))
        torch.cat([g[name].flatten(1) for name in w], dim=1, out=grad)


def _head(w, name, inputs, take):
    """Mean and log-variance of a Gaussian, before any squashing."""
    out = take(name, len(inputs), w[name].shape[1], inputs.shape[2])
    torch.bmm(w[name], inputs, out=out)
    mean, log_var = out.chunk(2, dim=1)
    return mean, log_var.add_(w[f"{name}_bias"])


def _nonzero_columns(coef):
    """Return places, of shape (M, C), that hold all of `coef` but zeros.

    The more features there are, the more of the importance weight falls to one of
    a row's codes; most weights are then exactly zero. None if too few are.
    """
    n_columns = int(coef.count_nonzero(1).max())
    if n_columns > coef.shape[1] // 2:
        return None
    return coef.abs().topk(max(n_columns, 1), dim=1, sorted=False).indices


def _gather(inputs, columns):
    return inputs.gather(2, columns.unsqueeze(1).expand(-1, inputs.shape[1], -1))


def _scatter(inputs, columns, out):
    return out.zero_().scatter_(2, columns.unsqueeze(1).expand_as(inputs), inputs)


def _normalise(inputs, scratch):
    """Standardise each unit over the batch, in place.

    Returns the mean, the unbiased variance, and the factor that was applied.
    """
    n_rows = inputs.shape[2]
    mean = inputs.sum(2, keepdim=True).mul_(1.0 / n_rows)
    inputs.sub_(mean)
    square = torch.mul(inputs, inputs, out=scratch).sum(2, keepdim=True)
    inv_std = (square * (1.0 / n_rows)).add_(EPS).rsqrt_()
    inputs.mul_(inv_std)
    return mean, square.mul_(1.0 / max(n_rows - 1, 1)), inv_std


def _normalise_backward(grad, normed, inv_std, scratch):
    scale = -1.0 / grad.shape[2]
    projection = torch.mul(grad, normed, out=scratch).sum(2, keepdim=True)
    grad.add_(grad.sum(2, keepdim=True), alpha=scale)
    grad.addcmul_(normed, projection, value=scale).mul_(inv_std)
