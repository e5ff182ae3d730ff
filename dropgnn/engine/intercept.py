"""Layers meet distinct rows: one wrapper around the call of a layer, which acts only where lazy tensors come in.

It is installed when the first model is made. A call without lazy tensors goes on as ever.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any

import torch
from torch.nn.modules import module as torch_modules
from torch.utils._pytree import tree_any, tree_map
from torch_geometric.nn import MessagePassing
from torch_geometric.nn.aggr import Aggregation

from dropgnn.engine.rows import Handle, Lazy, Rows, full
from dropgnn.engine.rules.parts import unknown_part, unusual
from dropgnn.engine.rules.rule import RULES, Rule, rule_of
from dropgnn.engine.spaces import Sharing
from dropgnn.engine.zeroing import current
from dropgnn.nn.modules import inside

MODULE_HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
MESSAGE_HOOKS = MODULE_HOOKS + tuple(
    f"_{part}_forward_{when}hooks"
    for part in ("propagate", "message", "aggregate", "message_and_aggregate", "edge_update")
    for when in ("", "pre_")
)
"""Where modules and PyG's layers keep what others want to see or change."""

GLOBAL_HOOKS = (
    torch_modules._global_forward_hooks, torch_modules._global_forward_pre_hooks, torch_modules._global_backward_hooks,
    torch_modules._global_backward_pre_hooks,
)  # fmt: skip


_TELLING = frozenset((Rows, Handle, tuple, list, dict))
"""Types of arguments that stand for rows of all copies, or may hold some."""


def install() -> None:
    """Wrap the call of PyG's layers and aggregations, and of other classes that have rules; once."""
    for kind in (MessagePassing, Aggregation, *RULES):
        if not issubclass(kind, MessagePassing) or kind is MessagePassing:
            _wrap(kind)


def _wrap(kind: type[torch.nn.Module]) -> None:
    before = vars(kind).get("__call__")
    if getattr(before, "shares_rows", False):
        return
    call = kind.__call__

    reads = issubclass(kind, (MessagePassing, Aggregation))

    @wraps(call)
    def wrapped(self: torch.nn.Module, *args: Any, **kwargs: Any) -> Any:
        if reads and (zeroing := current()) is not None:
            return zeroing.call(wrapped, self, args, kwargs)
        for value in args:
            if type(value) in _TELLING:
                return _shared_call(call, self, args, kwargs)
        if kwargs:
            for value in kwargs.values():
                if type(value) in _TELLING:
                    return _shared_call(call, self, args, kwargs)
        return call(self, *args, **kwargs)

    wrapped.shares_rows = True  # type: ignore[attr-defined]
    kind.__call__ = wrapped  # type: ignore[method-assign]


class Call:
    """One call of a module with lazy tensors.

    Args:
        run: The module's own call.
        module: The module.
        given: Its arguments by name, as its ``forward`` names them.
    """

    def __init__(
        self,
        run: Callable[..., Any],
        module: torch.nn.Module,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        sharing: Sharing,
    ) -> None:
        self.run, self.module, self.args, self.kwargs, self.sharing = run, module, args, kwargs, sharing
        self.given: dict[str, Any] = {}

    def bind(self) -> bool:
        """Name the arguments; whether that is possible."""
        kind: Any = type(self.module)
        try:
            self.given = dict(_signature(kind).bind(self.module, *self.args, **self.kwargs).arguments)
        except TypeError:
            return False
        del self.given[next(iter(self.given))]
        return not any(self.given.get(name) for name in ("args", "kwargs"))


@lru_cache(maxsize=512)
def _signature(kind: type[torch.nn.Module]) -> inspect.Signature:
    return inspect.signature(kind.forward)


def _shared_call(
    call: Callable[..., Any], module: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    sharing = _sharing_of(args, kwargs)
    if sharing is None:
        return call(module, *args, **kwargs)
    if _has_rows(args, kwargs):
        reason, found = _by_rule(call, module, args, kwargs, sharing)
        if reason is None:
            return found
        if isinstance(module, MessagePassing):  # the forward of other modules may go further than their rule
            sharing.end(_explained(module, reason, args, kwargs, sharing))
    if not isinstance(module, MessagePassing):
        return call(module, *args, **kwargs)
    return call(module, *tree_map(full, args), **tree_map(full, kwargs))


def _explained(module: torch.nn.Module, reason: str, args: Any, kwargs: Any, sharing: Sharing) -> str:
    """Why a layer is run copy by copy. Under ``trace``, a layer without a rule is checked on small random graphs."""
    if rule_of(module) is not None or not sharing.trace or sharing.ended:
        return f"{type(module).__name__}: {reason}"
    from dropgnn.engine.rules.check import verdict

    return verdict(module, args, kwargs)


def _by_rule(
    call: Callable[..., Any], module: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], sharing: Sharing
) -> tuple[str | None, Any]:
    """Why a call cannot be shared, or ``None`` and what it returns."""
    rule = rule_of(module)
    if rule is None:
        return "no rule says what this class looks at", None
    reason = obstacle(rule, module)
    if reason is not None:
        return reason, None
    bound = Call(call, module, args, kwargs, sharing)
    if not bound.bind():
        return "it is called in an unknown way", None
    found = rule.act(module, bound)
    if found is not NotImplemented:
        return None, found
    return unknown_part(module) or "it is called in a way that looks at all copies", None


def obstacle(rule: Rule, module: torch.nn.Module) -> str | None:
    """Why a module does something else than its class."""
    if any(GLOBAL_HOOKS):
        return "there are hooks on all modules, which want to see every copy"
    for one in inside(module):
        reason = changed(one) or unusual(one)
        if reason is not None:
            return reason
    return None if rule.obstacle is None else rule.obstacle(module)


def changed(module: torch.nn.Module) -> str | None:
    """Why a module may do something else than its class says, whatever is inside it."""
    names = MESSAGE_HOOKS if isinstance(module, MessagePassing) else MODULE_HOOKS
    own, kind = vars(module), type(module)
    if any(map(own.get, names)):
        return f"{kind.__name__} has hooks, which want to see every copy"
    replaced = own.keys() & _methods(kind)  # type: ignore[arg-type]
    return f"{kind.__name__} has a {min(replaced)} of its own" if replaced else None


@lru_cache(maxsize=512)
def _methods(kind: type[torch.nn.Module]) -> frozenset[str]:
    return frozenset(name for name in dir(kind) if callable(getattr(kind, name, None)))


def _sharing_of(args: Any, kwargs: Any) -> Sharing | None:
    found: list[Sharing] = []
    tree_map(lambda value: found.append(value.space.sharing) if isinstance(value, Lazy) else None, (args, kwargs))
    return found[0] if found else None


def _has_rows(args: Any, kwargs: Any) -> bool:
    return tree_any(lambda value: isinstance(value, Rows), (args, kwargs))


def is_edges(value: Any, sharing: Sharing) -> bool:
    """Whether a value is the edges of this forward, as they came in."""
    same = isinstance(value, Handle) and value.role == "edge_index" and value.space is sharing.nodes
    return same and not value.was_edited
