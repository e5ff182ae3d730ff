"""Names of functions of torch, by how they act on rows. A function that is not here is given all rows."""

UNARY = (
    "relu", "relu6", "elu", "selu", "celu", "gelu", "silu", "mish", "leaky_relu", "softplus", "softsign", "tanh", "sigmoid",
    "hardtanh", "hardswish", "hardsigmoid", "logsigmoid", "log_sigmoid", "tanhshrink", "softshrink", "hardshrink",
    "threshold", "abs", "absolute", "neg", "negative", "positive", "exp", "exp2", "expm1", "log", "log1p", "log2", "log10",
    "sqrt", "rsqrt", "square", "reciprocal", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "asinh", "acosh",
    "atanh", "erf", "erfc", "erfinv", "lgamma", "digamma", "floor", "ceil", "round", "trunc", "fix", "frac", "sign", "sgn",
    "isnan", "isinf", "isfinite", "clamp", "clip", "clamp_min", "clamp_max", "nan_to_num", "float", "double", "half",
    "bfloat16", "int", "long", "bool", "to", "contiguous", "clone", "detach", "logical_not", "bitwise_not", "logit", "sinc",
    "deg2rad", "rad2deg", "expit", "zeros_like", "ones_like", "full_like", "__neg__", "__abs__", "__pos__", "__invert__",
)  # fmt: skip
"""Functions of single entries, and constants in the shape of their argument."""

SEVERAL = (
    "add", "sub", "subtract", "rsub", "mul", "multiply", "div", "divide", "true_divide", "floor_divide", "remainder", "fmod",
    "pow", "float_power", "maximum", "minimum", "fmax", "fmin", "atan2", "arctan2", "hypot", "lerp", "addcmul", "addcdiv",
    "where", "eq", "ne", "lt", "le", "gt", "ge", "not_equal", "less", "less_equal", "greater", "greater_equal", "logical_and",
    "logical_or", "logical_xor", "bitwise_and", "bitwise_or", "bitwise_xor", "masked_fill", "prelu", "copysign", "logaddexp",
    "logaddexp2", "xlogy", "__add__", "__radd__", "__sub__", "__rsub__", "__mul__", "__rmul__", "__truediv__", "__rtruediv__",
    "__div__", "__rdiv__", "__floordiv__", "__rfloordiv__", "__mod__", "__rmod__", "__pow__", "__rpow__", "__eq__", "__ne__",
    "__lt__", "__le__", "__gt__", "__ge__", "__and__", "__rand__", "__or__", "__ror__", "__xor__", "__rxor__",
)  # fmt: skip
"""Functions of the entries of several tensors that broadcast to each other."""

IN_PLACE = {f"{name}_": name for name in (*UNARY, *SEVERAL) if not name.startswith("_")} | {
    f"__i{name}__": f"__{name}__"
    for name in ("add", "sub", "mul", "truediv", "div", "floordiv", "mod", "pow", "and", "or", "xor")
}
"""What functions that write on their first argument leave there."""

ALONG = {
    "sum": (1, None), "mean": (1, None), "max": (1, None), "min": (1, None), "amax": (1, None), "amin": (1, None),
    "prod": (1, None), "var": (1, None), "std": (1, None), "all": (1, None), "any": (1, None), "argmax": (1, None),
    "argmin": (1, None), "logsumexp": (1, None), "softmax": (1, None), "log_softmax": (1, None), "softmin": (1, None),
    "cumsum": (1, None), "cumprod": (1, None), "norm": (2, None), "normalize": (2, 1), "glu": (1, -1), "sort": (1, -1),
    "argsort": (1, -1), "median": (1, None), "count_nonzero": (1, None), "flip": (1, None), "unbind": (1, 0), "select": (1, None),
    "narrow": (1, None), "index_select": (1, None), "chunk": (2, 0), "split": (2, 0), "tensor_split": (2, 0),
    "unsqueeze": (1, None), "squeeze": (1, None), "topk": (2, -1),
}  # fmt: skip
"""Functions along one dimension, which must not be that of the rows: where they take it, and which they take by default."""

VIEWS = {"unbind", "select", "narrow", "chunk", "split", "tensor_split", "unsqueeze", "squeeze", "detach"}
"""Of which the result shares its memory with what it was made of."""

META = (
    "size", "dim", "ndimension", "numel", "nelement", "stride", "is_contiguous", "is_floating_point", "is_complex",
    "is_signed", "element_size", "get_device", "__len__", "is_same_size", "has_names", "is_inference", "is_conj", "is_neg",
)  # fmt: skip
"""What can be said of all rows without making them."""

META_PROPERTIES = (
    "shape", "dtype", "device", "ndim", "layout", "requires_grad", "is_leaf", "is_cuda", "is_cpu", "is_sparse",
    "is_mkldnn", "is_quantized", "is_meta", "is_nested", "is_xpu", "is_mps", "is_sparse_csr", "is_xla", "is_ipu", "is_vulkan",
    "is_maia", "is_mtia", "itemsize", "nbytes", "names", "_version", "retains_grad", "output_nr", "_backward_hooks", "_base",
    "name",
)  # fmt: skip
"""Likewise, as properties."""
