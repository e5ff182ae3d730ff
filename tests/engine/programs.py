"""What people write in a ``forward``, one thing each: ``program(modules, x, edge_index)``."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.utils.checkpoint import checkpoint
from torch_geometric.nn import GAT, GIN, GINConv, JumpingKnowledge

WIDTH = 6


class MixedRows(torch.autograd.Function):
    """A custom function that looks at all rows."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x * x.sum(0)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return gradient * x.sum(0) + (gradient * x).sum(0)


class StraightThrough(torch.autograd.Function):
    """A custom function whose backward is not its derivative."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x * 2.0

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        return gradient * 3.0


@torch.jit.script
def scripted_mix(x: Tensor) -> Tensor:
    return x * x.sum(0)


MODULES: dict[str, Callable[[], torch.nn.Module]] = {
    "lin": lambda: torch.nn.Linear(WIDTH, WIDTH),
    "gin": lambda: GIN(WIDTH, WIDTH, 2),
    "gat": lambda: GAT(WIDTH, WIDTH, 2, heads=2),
    "lstm": lambda: torch.nn.LSTM(WIDTH, WIDTH, batch_first=True),
    "gru": lambda: torch.nn.GRUCell(WIDTH, WIDTH),
    "jk": lambda: JumpingKnowledge("lstm", WIDTH, 2),
    "attention": lambda: torch.nn.MultiheadAttention(WIDTH, 2, batch_first=True),
    "transformer": lambda: torch.nn.TransformerEncoderLayer(WIDTH, 2, 8, batch_first=True, dropout=0.0),
    "mlp": lambda: torch.nn.Sequential(torch.nn.Linear(WIDTH, WIDTH), torch.nn.ReLU()),
    "norm": lambda: torch.nn.BatchNorm1d(WIDTH),
}

PROGRAMS: dict[str, Callable[..., Tensor]] = {}


def program(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    PROGRAMS[function.__name__] = function
    return function


@program
def linear(m: Any, x: Tensor, edges: Tensor) -> Tensor:
    return m.lin(x).relu()


@program
def gin(m: Any, x: Tensor, edges: Tensor) -> Tensor:
    return m.gin(x, edges)


@program
def gat(m: Any, x: Tensor, edges: Tensor) -> Tensor:
    return m.gat(x, edges)


@program
def lstm_over_layers(m: Any, x: Tensor, edges: Tensor) -> Tensor:
    return m.lstm(torch.stack([x, m.lin(x)], 1))[0][:, -1]


@program
def lstm_of_one_step(m: Any, x: Tensor, edges: Tensor) -> Tensor:
    return m.lstm(m.lin(x).unsqueeze(1))[0][:, 0]


@program
def lstm_with_rows_as_time(m: Any, x: Tensor, edges: Tensor) -> Tensor:
    return m.lstm(m.lin(x))[0]


@program
def lstm_last_state(m: Any, x: Tensor, edges: Tensor) -> Tensor:
    return m.lstm(torch.stack([x, m.lin(x)], 1))[1][0][0]


@program
def gru_cell(m: Any, x: Tensor, edges: Tensor) -> Tensor:
    return m.gru(m.lin(x), x)


@program
def gru_cell_without_state(m: Any, x: Tensor, edges: Tensor) -> Tensor:
    return m.gru(m.lin(x))


@program
def jumping_knowledge(m: Any, x: Tensor, edges: Tensor) -> Tensor:
    return m.jk([m.lin(x), x])


@program
def batch_norm_between(m: Any, x: Tensor, edges: Tensor) -> Tensor:
    return m.norm(m.lin(x)).relu() * 2


@program
def add_in_place(m: Any, x: Tensor, edges: Tensor) -> Tensor:
    h = m.lin(x)
    h += 1
    twice = h * 2
    h += twice
    return h


@program
def add_in_place_to_an_alias(m: Any, x: Tensor, edges: Tensor) -> Tensor:
    h = m.lin(x)
    other = h
    h += 1
    return other * 2


@program
def add_in_place_under_a_view(m: Any, x: Tensor, edges: Tensor) -> Tensor:
    h = m.lin(x)
    left = h[:, :3]
    h.add_(1)
    return torch.cat([left, h[:, 3:]], dim=1)


@program
def write_on_a_view(m: Any, x: Tensor, edges: Tensor) -> Tensor:
    h = m.lin(x)
    h[:, :3].mul_(2)
    return h * 1


@program
def relu_in_place(m: Any, x: Tensor, edges: Tensor) -> Tensor:
    h = m.lin(x)
    F.relu_(h)
    return h * 2


@program
def relu_module_in_place(m: Any, x: Tensor, edges: Tensor) -> Tensor:
    h = m.lin(x) * 1
    return torch.nn.ReLU(inplace=True)(h) * 2 + h


@program
def set_a_row(m: Any, x: Tensor, edges: Tensor) -> Tensor:
    h = m.lin(x) * 1
    h[0] = 1
    return h * 2


@program
def set_a_column(m: Any, x: Tensor, edges: Tensor) -> Tensor:
    h = m.lin(x) * 1
    h[:, 0] = 1
    return h * 2


@program
def set_by_mask(m: Any, x: Tensor, edges: Tensor) -> Tensor:
    h = m.lin(x) * 1
    h[h > 0] = 0
    return h * 2


@program
def out_argument(m: Any, x: Tensor, edges: Tensor) -> Tensor:
    with torch.no_grad():
        out = torch.empty_like(x)
        torch.add(x, 1, out=out)
    return m.lin(x) + out


@program
def out_argument_of_ones_own(m: Any, x: Tensor, edges: Tensor) -> Tensor:
    with torch.no_grad():
        out = torch.empty(x.shape, dtype=x.dtype)
        torch.add(x, 1, out=out)
    return m.lin(x) + out


@program
def asks_isinstance(m: Any, x: Tensor, edges: Tensor) -> Tensor:
    return m.lin(x) if isinstance(x, Tensor) else m.lin(x) * 2


@program
def asks_type(m: Any, x: Tensor, edges: Tensor) -> Tensor:
    return m.lin(x) * 2 if isinstance(x, torch.nn.Parameter) else m.lin(x)


@program
def asks_is_tensor(m: Any, x: Tensor, edges: Tensor) -> Tensor:
    return m.lin(x) if torch.is_tensor(x) else m.lin(x) * 2


@program
def noise(m: Any, x: Tensor, edges: Tensor) -> Tensor:
    return m.lin(x) + torch.rand(x.size(0), 1, dtype=x.dtype, generator=torch.Generator().manual_seed(3))


@program
def noise_like(m: Any, x: Tensor, edges: Tensor) -> Tensor:
    return m.lin(x) + torch.rand_like(x)


@program
def positions(m: Any, x: Tensor, edges: Tensor) -> Tensor:
    return m.lin(x) + torch.arange(x.shape[0], dtype=x.dtype).unsqueeze(1)


@program
def positions_transposed(m: Any, x: Tensor, edges: Tensor) -> Tensor:
    return (m.lin(x).t() + torch.arange(x.shape[0], dtype=x.dtype)).t()


@program
def divides_by_the_number_of_rows(m: Any, x: Tensor, edges: Tensor) -> Tensor:
    return m.lin(x) / x.size(0)


@program
def length(m: Any, x: Tensor, edges: Tensor) -> Tensor:
    return m.lin(x) * float(len(x))


@program
def total(m: Any, x: Tensor, edges: Tensor) -> Tensor:
    return m.lin(x) * x.sum()


@program
def zeros_like_and_positions(m: Any, x: Tensor, edges: Tensor) -> Tensor:
    return torch.zeros_like(x) + m.lin(x) + torch.arange(x.size(0)).to(x).unsqueeze(1)


@program
def iterates(m: Any, x: Tensor, edges: Tensor) -> Tensor:
    return torch.stack([m.lin(row) * number for number, row in enumerate(x)])


@program
def through_numpy(m: Any, x: Tensor, edges: Tensor) -> Tensor:
    return m.lin(x) * torch.from_numpy(x.detach().numpy().copy()).sum(0)


@program
def through_asarray(m: Any, x: Tensor, edges: Tensor) -> Tensor:
    import numpy as np

    return m.lin(x) * torch.from_numpy(np.array(x.detach())).sum(0)


@program
def through_tolist(m: Any, x: Tensor, edges: Tensor) -> Tensor:
    return m.lin(torch.as_tensor(x)) * torch.tensor(x.detach().tolist(), dtype=x.dtype).sum(0)


@program
def writes_on_data(m: Any, x: Tensor, edges: Tensor) -> Tensor:
    h = m.lin(x)
    h.data.mul_(2)
    return h * 1


@program
def reads_data(m: Any, x: Tensor, edges: Tensor) -> Tensor:
    return m.lin(x) * x.data.sum()


@program
def detaches(m: Any, x: Tensor, edges: Tensor) -> Tensor:
    return m.lin(x) * x.detach() + (x - x.detach())


@program
def copies(m: Any, x: Tensor, edges: Tensor) -> Tensor:
    h = m.lin(x)
    return copy.copy(h) * 2 + h


@program
def deep_copies(m: Any, x: Tensor, edges: Tensor) -> Tensor:
    return m.lin(copy.deepcopy(x.detach())) + x


@program
def custom_function_over_rows(m: Any, x: Tensor, edges: Tensor) -> Tensor:
    return MixedRows.apply(m.lin(x))


@program
def custom_function_with_other_gradient(m: Any, x: Tensor, edges: Tensor) -> Tensor:
    return StraightThrough.apply(m.lin(x)).relu() + x


@program
def scripted_row_by_row(m: Any, x: Tensor, edges: Tensor) -> Tensor:
    return torch.jit.script(m.mlp)(x)


@program
def scripted_over_rows(m: Any, x: Tensor, edges: Tensor) -> Tensor:
    return scripted_mix(m.lin(x))


@program
def compiled_over_rows(m: Any, x: Tensor, edges: Tensor) -> Tensor:
    return torch.compile(lambda h: h * h.sum(0), backend="eager")(m.lin(x))


@program
def attention_over_rows(m: Any, x: Tensor, edges: Tensor) -> Tensor:
    return m.attention(x, x, x, need_weights=False)[0]


@program
def attention_over_rows_as_a_sequence(m: Any, x: Tensor, edges: Tensor) -> Tensor:
    return m.attention(x.unsqueeze(0), x.unsqueeze(0), x.unsqueeze(0), need_weights=False)[0][0]


@program
def transformer_layer(m: Any, x: Tensor, edges: Tensor) -> Tensor:
    return m.transformer(x.unsqueeze(0))[0]


@program
def checkpoint_reentrant(m: Any, x: Tensor, edges: Tensor) -> Tensor:
    return checkpoint(lambda h: m.lin(h).relu() * h.sum(0), m.lin(x), use_reentrant=True)


@program
def checkpoint_without(m: Any, x: Tensor, edges: Tensor) -> Tensor:
    return checkpoint(lambda h: m.lin(h).relu() * h.sum(0), x, use_reentrant=False)


@program
def checkpoint_of_layers(m: Any, x: Tensor, edges: Tensor) -> Tensor:
    return checkpoint(lambda h: m.gin(h, edges).relu(), m.lin(x), use_reentrant=False)


@program
def hook_on_a_value(m: Any, x: Tensor, edges: Tensor) -> Tensor:
    h = m.lin(x)
    if h.requires_grad:
        h.register_hook(lambda gradient: gradient / gradient.shape[0])
    return h.relu()


@program
def asks_of_gradients(m: Any, x: Tensor, edges: Tensor) -> Tensor:
    h = m.lin(x)
    return h * h.requires_grad + h.is_leaf


@program
def normalises_over_rows(m: Any, x: Tensor, edges: Tensor) -> Tensor:
    return m.lin(x) * F.normalize(x + 1, dim=0)


@program
def gradient_inside(m: Any, x: Tensor, edges: Tensor) -> Tensor:
    h = m.lin(x).tanh()
    if not h.requires_grad:
        return h
    with torch.enable_grad():
        (gradient,) = torch.autograd.grad(h.sum(), m.lin.weight, create_graph=True)
    return h + h @ gradient


@program
def where_positive(m: Any, x: Tensor, edges: Tensor) -> Tensor:
    return torch.where(x > 0, m.lin(x), x * 0)


@program
def distances(m: Any, x: Tensor, edges: Tensor) -> Tensor:
    return m.lin(x) + torch.cdist(x, x).sum(1, keepdim=True)


@program
def einsum_over_rows(m: Any, x: Tensor, edges: Tensor) -> Tensor:
    return torch.einsum("nf,mf->nf", m.lin(x), x)


@program
def branches_on_data(m: Any, x: Tensor, edges: Tensor) -> Tensor:
    return m.lin(x) if x.mean() > 0.5 else m.lin(x) * 3


@program
def edges_taken_apart(m: Any, x: Tensor, edges: Tensor) -> Tensor:
    sender, receiver = edges
    return m.lin(x).index_add(0, receiver, x[sender])


@program
def edges_by_row(m: Any, x: Tensor, edges: Tensor) -> Tensor:
    return m.lin(x).index_add(0, edges[1], x[edges[0]] * 0.5)


@program
def scattered_by_hand(m: Any, x: Tensor, edges: Tensor) -> Tensor:
    from torch_geometric.utils import scatter

    return m.lin(x) + scatter(x[edges[0]], edges[1], dim=0, dim_size=x.size(0), reduce="sum")


@program
def other_edges(m: Any, x: Tensor, edges: Tensor) -> Tensor:
    return m.gin(x, edges.flip(0))


@program
def ranks_of_columns(m: Any, x: Tensor, edges: Tensor) -> Tensor:
    return m.lin(x).sort(dim=1).values + m.lin(x).topk(2, dim=-1).values.sum(1, keepdim=True)


@program
def softmax_over_columns(m: Any, x: Tensor, edges: Tensor) -> Tensor:
    return m.lin(x).softmax(-1) * m.lin(x).max(dim=1, keepdim=True)[0]


@program
def softmax_over_rows(m: Any, x: Tensor, edges: Tensor) -> Tensor:
    return m.lin(x).softmax(0)


@program
def heads(m: Any, x: Tensor, edges: Tensor) -> Tensor:
    h = m.lin(x).view(-1, 2, 3)
    return (h * h.sum(-1, keepdim=True)).reshape(x.size(0), WIDTH)


@program
def first_rows(m: Any, x: Tensor, edges: Tensor) -> Tensor:
    return m.lin(x) + x[:2].sum()


@program
def chunks(m: Any, x: Tensor, edges: Tensor) -> Tensor:
    left, right = m.lin(x).chunk(2, dim=1)
    return torch.cat([right.tanh(), left], dim=-1)


@program
def sets_requires_grad(m: Any, x: Tensor, edges: Tensor) -> Tensor:
    h = m.lin(x).detach()
    h.requires_grad_(True)
    return h * 2 + m.lin(x)


@program
def flips_columns_and_rows(m: Any, x: Tensor, edges: Tensor) -> Tensor:
    return m.lin(x).flip(1, 0)


@program
def edits_under_a_view_of_a_view(m: Any, x: Tensor, edges: Tensor) -> Tensor:
    h = m.lin(x) * 1
    part = h.view(-1, 2, 3)[:, 0]
    h += 1
    return torch.cat([part, h[:, 3:]], dim=1)


@program
def edits_a_row_by_a_view(m: Any, x: Tensor, edges: Tensor) -> Tensor:
    h = m.lin(x) * 1
    h[0].zero_()
    return h * 2


@program
def edits_a_transposed_view(m: Any, x: Tensor, edges: Tensor) -> Tensor:
    h = m.lin(x) * 1
    h.t().mul_(2)
    return h + 1


@program
def edits_a_full_slice(m: Any, x: Tensor, edges: Tensor) -> Tensor:
    h = m.lin(x) * 1
    whole = h[:]
    whole += 1
    return h * 2


@program
def edits_a_list_of_tensors(m: Any, x: Tensor, edges: Tensor) -> Tensor:
    h = m.lin(x) * 1
    torch._foreach_mul_([h], 2.0)
    return h + 1


@program
def edits_by_an_operator(m: Any, x: Tensor, edges: Tensor) -> Tensor:
    h = m.lin(x) * 1
    torch.ops.aten.mul_.Tensor(h, 2.0)
    return h + 1


@program
def drops_in_place(m: Any, x: Tensor, edges: Tensor) -> Tensor:
    h = m.lin(x) * 1
    return h + F.dropout(h, 0.5, True, True)


@program
def relu_in_place_by_position(m: Any, x: Tensor, edges: Tensor) -> Tensor:
    h = m.lin(x) * 1
    return F.relu(h, True) + h


@program
def edits_without_gradient(m: Any, x: Tensor, edges: Tensor) -> Tensor:
    h = m.lin(x) * 1
    with torch.no_grad():
        h.clamp_(-0.5, 0.5)
    return h * h


@program
def edits_edges(m: Any, x: Tensor, edges: Tensor) -> Tensor:
    edges[0].copy_(edges[1])
    return m.gin(x, edges)


@program
def hook_on_a_node(m: Any, x: Tensor, edges: Tensor) -> Tensor:
    h = m.lin(x)
    if h.grad_fn is not None:
        h.grad_fn.register_prehook(lambda gradients: tuple(2 * one for one in gradients))
    return h.relu()


@program
def last_state_looked_at_without_gradient(m: Any, x: Tensor, edges: Tensor) -> Tensor:
    last = m.lstm(torch.stack([x, m.lin(x)], 1))[1][0]
    with torch.no_grad():
        last.norm()
    return last[0]


@program
def counts_its_calls(m: Any, x: Tensor, edges: Tensor) -> Tensor:
    m.calls = getattr(m, "calls", 0) + 1
    h = m.lin(x) * 1
    h[0] = 0
    return h * m.calls


@program
def catches_errors(m: Any, x: Tensor, edges: Tensor) -> Tensor:
    try:
        return m.lin(x).contiguous().to(x.dtype).double()
    except RuntimeError:
        return m.lin(x) * 5


@program
def slices_of_columns_side_by_side(m: Any, x: Tensor, edges: Tensor) -> Tensor:
    return torch.cat([x, m.lin(x)], dim=1)[:, 3:9]


@program
def leaky_relu_in_place(m: Any, x: Tensor, edges: Tensor) -> Tensor:
    return F.leaky_relu_(m.lin(x) * 1) * 2


class Centred(torch.nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x - x.mean(0)


@program
def layer_with_a_module_over_rows(m: Any, x: Tensor, edges: Tensor) -> Tensor:
    network = torch.nn.Sequential(m.lin, Centred())
    return GINConv(network, aggr="max")(x, edges)


@program
def layer_with_a_message_of_its_own(m: Any, x: Tensor, edges: Tensor) -> Tensor:
    layer = GINConv(m.lin)
    layer.message = lambda x_j: 2 * x_j
    return layer(x, edges)
