"""Operations of torch by their overload.

Where only the name is given, torch looks for the right overload at every call, which
takes longer than most of the calls.
"""

import torch

leaky_relu = torch.ops.aten.leaky_relu.out
leaky_relu_backward = torch.ops.aten.leaky_relu_backward.grad_input
hardtanh_backward = torch.ops.aten.hardtanh_backward.grad_input
sigmoid_backward = torch.ops.aten.sigmoid_backward.grad_input
tanh_backward = torch.ops.aten.tanh_backward.grad_input
threshold_backward = torch.ops.aten.threshold_backward.grad_input
