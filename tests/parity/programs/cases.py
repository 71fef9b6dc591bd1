"""Programs in the public interface that tinygrad and polygrad share: what both are compared by.

Each has inputs, as shapes and types, and a function of them that returns tensors. FRAMEWORK in the
environment says whose interface they use; the names of types are tinygrad's. Whoever adds a program
records it with both of record.py here and core/tensor/testdata/graphs.py.
"""

import importlib
import os

_framework = importlib.import_module(os.environ.get("FRAMEWORK", "polygrad"))
Tensor, Variable, dtypes = _framework.Tensor, _framework.Variable, _framework.dtypes
nn = importlib.import_module(_framework.__name__ + ".nn")

CASES = {}


def case(name, f, *inputs):
    assert name not in CASES, name
    CASES[name] = (inputs, f)


def f32(*shape):
    return (shape, "float")


def typed(dtype, *shape):
    return (shape, dtype)


V8 = f32(8)
M34 = f32(3, 4)
C234 = f32(2, 3, 4)

# element by element, float32
for name in [
    "exp",
    "exp2",
    "log",
    "log2",
    "log10",
    "sqrt",
    "rsqrt",
    "sin",
    "cos",
    "tan",
    "reciprocal",
    "sigmoid",
    "tanh",
    "erf",
    "abs",
    "sign",
    "square",
    "neg",
    "relu",
    "relu6",
    "gelu",
    "quick_gelu",
    "silu",
    "mish",
    "softsign",
    "logsigmoid",
    "hardswish",
    "hardsigmoid",
    "trunc",
    "floor",
    "ceil",
    "round",
    "isnan",
    "isinf",
    "isfinite",
    "logical_not",
]:
    case("un_" + name, lambda x, name=name: getattr(x, name)(), V8)
    case(
        "grad_" + name, lambda x, name=name: getattr(x, name)().sum().gradient(x)[0], V8
    ) if name not in (
        "trunc",
        "floor",
        "ceil",
        "round",
        "isnan",
        "isinf",
        "isfinite",
        "logical_not",
    ) else None
    if name not in ("gelu", "mish", "erf"):
        case("half_" + name, lambda x, name=name: getattr(x, name)(), typed("half", 8))
case("un_elu", lambda x: x.elu(0.5), V8)
case("un_celu", lambda x: x.celu(0.5), V8)
case("un_selu", lambda x: x.selu(), V8)
case("un_leaky", lambda x: x.leaky_relu(0.1), V8)
case("un_softplus", lambda x: x.softplus(2.0), V8)
case("un_hardtanh", lambda x: x.hardtanh(-2.0, 3.0), V8)
case("un_clamp_lo", lambda x: x.clamp(min_=-1.0), V8)
case("un_clamp_hi", lambda x: x.clamp(max_=1.0), V8)
case("int_exp", lambda x: x.exp(), typed("int", 8))
case("int_cos", lambda x: x.cos(), typed("int", 8))
case("int_sqrt", lambda x: x.sqrt(), typed("short", 8))
case("int_neg", lambda x: -x, typed("char", 8))
case("int_abs", lambda x: x.abs(), typed("int", 8))
case("bool_neg", lambda x: -x, typed("bool", 8))
case("bool_not", lambda x: ~x, typed("bool", 8))
case("int_not", lambda x: ~x, typed("int", 8))

# two operands, promotion, broadcasting
for name, f in {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "div": lambda x, y: x / y,
    "lt": lambda x, y: x < y,
    "gt": lambda x, y: x > y,
    "ge": lambda x, y: x >= y,
    "le": lambda x, y: x <= y,
    "eq": lambda x, y: x == y,
    "ne": lambda x, y: x != y,
    "max": lambda x, y: x.maximum(y),
    "min": lambda x, y: x.minimum(y),
    "floordiv": lambda x, y: x // y,
    "mod": lambda x, y: x % y,
}.items():
    case("bin_" + name, f, M34, f32(4))
    case("bin_int_" + name, f, typed("int", 3, 1), typed("int", 4))
    case("bin_mixed_" + name, f, typed("uchar", 3, 4), typed("int", 4))
    case("bin_half_" + name, f, typed("half", 3, 4), typed("char", 3, 1))
for name, f in {
    "and": lambda x, y: x & y,
    "or": lambda x, y: x | y,
    "xor": lambda x, y: x ^ y,
}.items():
    case("bit_" + name, f, typed("int", 3, 4), typed("uchar", 4))
    case("bit_bool_" + name, f, typed("bool", 3, 4), typed("bool", 4))
case("bin_pow", lambda x, y: x**y, M34, f32(4))
case("bin_copysign", lambda x, y: x.copysign(y), M34, f32(4))
case("bin_logaddexp", lambda x, y: x.logaddexp(y), M34, f32(4))
case("bin_lerp", lambda x, y, w: x.lerp(y, w), V8, V8, V8)
case("bin_lerp_u8", lambda x, y, w: x.lerp(y, w), typed("uchar", 8), typed("uchar", 8), V8)
case("bin_isclose", lambda x, y: x.isclose(y), V8, V8)
case("trunc_div_float", lambda x, y: x.div(y, rounding_mode="trunc"), V8, V8)
case("floor_div_const", lambda x: x // 3.0, V8)
case("int_div_const", lambda x: x // 5, typed("int", 8))
case("int_plus_float", lambda x: x + 1.5, typed("int", 8))
case("int_true_div", lambda x: x / 4, typed("int", 8))
case("bool_plus_int", lambda x: x + 2, typed("bool", 8))
case("bool_times_float", lambda x: x * 2.5, typed("bool", 8))
case("rsub", lambda x: 1 - x, V8)
case("rdiv", lambda x: 3.0 / x, V8)
case("rpow", lambda x: 2.5**x, V8)
case("pow_int", lambda x: x**3, typed("int", 8))
case("pow_half", lambda x: x**0.5, V8)
case("shl", lambda x: x << 4, typed("uint", 8))
case("shr", lambda x: x >> 4, typed("ulong", 8))
case(
    "where_tensors", lambda c, x, y: c.where(x, y), typed("bool", 3, 1), f32(4), typed("int", 3, 4)
)
case("where_scalar", lambda c, x: c.where(x, 1.5), typed("bool", 3, 4), typed("int", 4))
case("where_scalar_first", lambda c, x: c.where(2, x), f32(3, 4), f32(4))
case("where_scalars", lambda c: c.where(1, 0), typed("bool", 8))
case("masked_fill", lambda x, m: x.masked_fill(m, -1.0), V8, typed("bool", 8))

# reductions
for name in ["sum", "max", "min", "mean", "prod"]:
    for i, axis in enumerate((None, 0, (0, 2), -1)):
        case(f"red_{name}_{i}", lambda x, name=name, axis=axis: getattr(x, name)(axis), C234)
    case(f"red_{name}_keep", lambda x, name=name: getattr(x, name)(1, keepdim=True), C234)
    case(f"red_int_{name}", lambda x, name=name: getattr(x, name)(1), typed("int", 2, 3, 4))
    case(f"red_half_{name}", lambda x, name=name: getattr(x, name)(1), typed("half", 2, 3, 4))
    case(f"red_bool_{name}", lambda x, name=name: getattr(x, name)(1), typed("bool", 2, 3, 4))
    if name != "min":
        case(
            f"red_grad_{name}",
            lambda x, c, name=name: (getattr(x, name)(1) * c).sum().gradient(x)[0],
            C234,
            f32(2, 4),
        )
case("red_any", lambda x: x.any(1), C234)
case("red_all", lambda x: x.all(1), C234)
case("red_var", lambda x: x.var((0, 2), correction=0), C234)
case("red_std", lambda x: x.std(None, keepdim=True), C234)
case("red_one", lambda x: x.sum(1) + x.max(1) + x.mean(1), f32(2, 1, 4))
case("red_argmax", lambda x: x.argmax(1, keepdim=True), C234)
case("red_argmax_all", lambda x: x.argmax(), C234)
case("red_argmin", lambda x: x.argmin(-1), C234)
case("red_logsumexp", lambda x: x.logsumexp(1), C234)
case("red_logsumexp_keep", lambda x: x.logsumexp(1, keepdim=True), C234)
case("red_logsumexp_all", lambda x: x.logsumexp(), C234)
case("softmax", lambda x: x.softmax(1), C234)
case("softmax_all", lambda x: x.softmax(None), C234)
case("softmax_grad", lambda x, c: (x.softmax() * c).sum().gradient(x)[0], M34, M34)
case("log_softmax", lambda x: x.log_softmax(), C234)
case("log_softmax_half", lambda x: x.log_softmax(), typed("half", 3, 4))
case("layernorm", lambda x: x.layernorm((1, 2)), C234)
case("layernorm_half", lambda x: x.layernorm(), typed("half", 3, 4))
case("rmsnorm_half", lambda x: nn.RMSNorm(4, elementwise_affine=False)(x), typed("half", 3, 4))
case("cumsum", lambda x: x.cumsum(1), C234)
case("cumsum_int", lambda x: x.cumsum(0), typed("int", 5))
case("cumsum_long", lambda x: x.cumsum(1), f32(2, 600))
case("cumprod_long", lambda x: x.cumprod(0), f32(700))
case("cummax", lambda x: x.cummax(1), M34)
case("cummin", lambda x: x.cummin(0), typed("int", 3, 4))
case("logcumsumexp", lambda x: x.logcumsumexp(1), M34)

# movement
case("mv_reshape_infer", lambda x: x.reshape(-1, 6), C234)
case("mv_expand", lambda x: x.expand(5, -1, 4), f32(3, 1))
case("mv_transpose", lambda x: x.transpose(0, 2), C234)
case("mv_squeeze", lambda x: x.squeeze(), f32(1, 3, 1, 4))
case("mv_squeeze1", lambda x: x.squeeze(-2), f32(1, 3, 1, 4))
case("mv_unsqueeze", lambda x: x.unsqueeze(-1), M34)
case("mv_flatten", lambda x: x.flatten(1), C234)
case("mv_unflatten", lambda x: x.unflatten(-1, (2, -1)), C234)
case("mv_repeat", lambda x: x.repeat(2, 1, 3), M34)
case("mv_repeat_interleave", lambda x: x.repeat_interleave(2, 1), M34)
case("mv_roll", lambda x: x.roll((1, -2), (0, 1)), M34)
case("mv_roll_flat", lambda x: x.roll(3), M34)
case("mv_pad_value", lambda x: x.pad(((1, 2), (0, 1)), value=2.5), M34)
case("mv_pad_negative", lambda x: x.pad(((-1, 2), (1, -2))), M34)
case("mv_pad_replicate", lambda x: x.pad((1, 2, 3, 0), mode="replicate"), M34)
case("mv_pad_circular", lambda x: x.pad((1, 2, 3, 0), mode="circular"), M34)
case("mv_pad_reflect", lambda x: x.pad((1, 2, 0, 2), mode="reflect"), M34)
case("mv_unfold", lambda x: x.unfold(0, 2, 1), M34)
case("mv_cat_types", lambda x, y: x.cat(y, dim=-1), M34, typed("int", 3, 2))
case("mv_stack", lambda x, y: x.stack(y, dim=1), M34, M34)
case("mv_split", lambda x: x.split([1, 3], 1), M34)
case("mv_split_every", lambda x: x.split(2), f32(5, 2))
case("mv_chunk", lambda x: x.chunk(3), f32(8, 2))
case("mv_meshgrid", lambda x, y: x.meshgrid(y), f32(3), f32(4))
case("mv_meshgrid_xy", lambda x, y: x.meshgrid(y, indexing="xy"), f32(3), f32(4))
case("mv_diag", lambda x: x.diag(), f32(3))
case("mv_diagonal", lambda x: x.diagonal(1), f32(4, 5))
case("mv_diagonal_below", lambda x: x.diagonal(-1, 0, 2), C234)
case("mv_tril", lambda x: x.tril(-1), f32(2, 3, 4))
case("mv_triu_int", lambda x: x.triu(), typed("int", 3, 3))
case("mv_interleave", lambda x: x.rearrange("b (h d) c -> h b (c d)", h=2), f32(3, 4, 5))
case("mv_rearrange_dots", lambda x: x.rearrange("a ... b -> b ... 1 a"), C234)
case(
    "mv_grad",
    lambda x, c: (
        (x.permute(1, 0)[1:, ::-1].pad(((0, 1), (1, 0))).expand(2, 4, 4).reshape(8, 4) * c)
        .sum()
        .gradient(x)[0]
    ),
    M34,
    f32(8, 4),
)

# construction
case("mk_full", lambda: Tensor.full((2, 3), 4, dtype=dtypes.int32))
case("mk_zeros", lambda: Tensor.zeros(2, 3))
case("mk_scalar", lambda: Tensor.full((), 4.0))
case("mk_arange_step", lambda: Tensor.arange(3, 20, 4))
case("mk_arange_float", lambda: Tensor.arange(0.5, 3, 0.25))
case("mk_arange_down", lambda: Tensor.arange(5, 0, -1))
case("mk_eye", lambda: Tensor.eye(3, 4))
case("mk_linspace", lambda: Tensor.linspace(1, 2.5, 4))
case("mk_empty", lambda: Tensor.empty(2, 3) + 1)

# indexing
case("ix_int", lambda x: x[1], C234)
case("ix_negative", lambda x: x[-1, ..., -2], C234)
case("ix_slice", lambda x: x[:, 1:, ::2], C234)
case("ix_slice_back", lambda x: x[::-1, 2:0:-1], C234)
case("ix_slice_empty", lambda x: x[:, 2:1], M34)
case("ix_none", lambda x: x[:, None, 1:3, None], M34)
case("ix_tensor", lambda x, i: x[i], M34, typed("int", 5))
case("ix_tensor_axis1", lambda x, i: x[:, i], M34, typed("int", 2, 2))
case("ix_tensor_u8", lambda x, i: x[i], M34, typed("uchar", 5))
case("ix_two", lambda x, i, j: x[i, j], C234, typed("int", 5), typed("int", 5))
case("ix_two_broadcast", lambda x, i, j: x[:, i, j], C234, typed("int", 2, 1), typed("int", 3))
case("ix_two_apart", lambda x, i, j: x[i, :, j], C234, typed("int", 5), typed("int", 5))
case(
    "ix_two_apart_inner",
    lambda x, i, j: x[:, i, :, j],
    f32(2, 3, 4, 5),
    typed("int", 5),
    typed("int", 5),
)
case("ix_mixed", lambda x, i: x[1:, None, i, 2], C234, typed("int", 5))
case("ix_grad", lambda x, i, c: (x[i] * c).sum().gradient(x)[0], M34, typed("int", 5), f32(5, 4))
case("ix_gather", lambda x, i: x.gather(1, i), M34, typed("int", 2, 5))
case("ix_gather_grad", lambda x, i: x.gather(0, i).sum().gradient(x)[0], M34, typed("int", 2, 4))
case("ix_scatter", lambda x, i, s: x.scatter(1, i, s), M34, typed("int", 2, 3), f32(3, 3))
for name in ["sum", "prod", "mean", "amax", "amin"]:
    case(
        "ix_scatter_" + name,
        lambda x, i, s, name=name: x.scatter_reduce(0, i, s, name),
        M34,
        typed("int", 2, 3),
        f32(3, 3),
    )
    case(
        "ix_scatter_only_" + name,
        lambda x, i, s, name=name: x.scatter_reduce(0, i, s, name, include_self=False),
        M34,
        typed("int", 2, 3),
        f32(3, 3),
    )


def _embedding(weight, i):
    m = nn.Embedding(*weight.shape)
    m.weight = weight
    return m(i)


def _written(x, index, value):
    x[index] = value
    return x


case("ix_one_hot", lambda i: i.one_hot(5), typed("int", 2, 3))
case("ix_embedding", lambda w, i: _embedding(w, i), f32(10, 4), typed("int", 2, 3))
case(
    "ix_embedding_half",
    lambda w, i: _embedding(w, i),
    typed("half", 10, 4),
    typed("int", 2, 3),
)
case("ix_set_slice", lambda x, v: _written(x + 0, (slice(None), slice(1, 3)), v), M34, f32(3, 2))
case("ix_set_step", lambda x, v: _written(x + 0, (slice(None, None, -2), 1), v), f32(5, 4), f32(3))
case(
    "ix_set_tensor",
    lambda x, i, v: _written(x + 0, (slice(None), i), v),
    M34,
    typed("int", 5),
    f32(3, 5),
)
case(
    "ix_set_tensor_apart",
    lambda x, i, v: _written(x + 0, (i, slice(None), i), v),
    C234,
    typed("int", 5),
    f32(5, 3),
)

# sorting
case("so_sort", lambda x: x.sort(), f32(2, 5))
case("so_sort_down", lambda x: x.sort(0, descending=True), f32(4, 3))
case("so_sort_int", lambda x: x.sort(), typed("int", 6))
case("so_topk", lambda x: x.topk(2), f32(3, 7))
case("so_topk_least", lambda x: x.topk(2, 0, largest=False), f32(3, 2))

# matrices
case("mm_vec", lambda x, w: x @ w, f32(4), f32(4))
case("mm_mat_vec", lambda x, w: x @ w, f32(3, 4), f32(4))
case("mm_vec_mat", lambda x, w: x @ w, f32(4), f32(4, 5))
case("mm_batched", lambda x, w: x @ w, f32(2, 1, 3, 4), f32(5, 4, 6))
case("mm_half", lambda x, w: x @ w, typed("half", 3, 4), typed("half", 4, 2))
case("mm_mixed", lambda x, w: x @ w, typed("half", 3, 4), f32(4, 2))
case("mm_uchar", lambda x, w: x @ w, typed("uchar", 3, 4), typed("uchar", 4, 2))
case(
    "mm_dtype",
    lambda x, w: x.dot(w, dtype=dtypes.float32),
    typed("half", 3, 4),
    typed("half", 4, 2),
)
case("mm_linear", lambda x, w, b: x.linear(w.T, b), f32(2, 3, 4), f32(5, 4), f32(5))
case("mm_grad", lambda x, w: (x @ w).square().sum().gradient(x, w), f32(3, 4), f32(4, 2))
for name, formula, shapes in [
    ("dot", "i,i->", ((3,), (3,))),
    ("matmul", "ij,jk->ik", ((3, 4), (4, 5))),
    ("implicit", "ij,jk", ((3, 4), (4, 5))),
    ("transpose", "ij->ji", ((3, 4),)),
    ("three", "ij,jk,kl->il", ((3, 4), (4, 5), (5, 2))),
    ("outer", "i,j->ij", ((3,), (4,))),
    ("trace", "ii->i", ((3, 3),)),
    ("dots", "...ij,...jk->...ik", ((2, 3, 4), (2, 4, 5))),
    ("dots_implicit", "...ij,jk", ((2, 3, 4), (4, 5))),
    ("sum", "ij->", ((3, 4),)),
    ("batch", "bhqd,bhkd->bhqk", ((2, 3, 4, 5), (2, 3, 6, 5))),
]:
    case(
        "es_" + name,
        lambda *xs, formula=formula: Tensor.einsum(formula, *xs),
        *[f32(*s) for s in shapes],
    )

# convolutions and pools
X = f32(2, 4, 7, 6)
case("cv_plain", lambda x, w: x.conv2d(w), X, f32(3, 4, 3, 3))
case("cv_bias", lambda x, w, b: x.conv2d(w, b, padding=1), X, f32(3, 4, 3, 3), f32(3))
case("cv_groups", lambda x, w: x.conv2d(w, groups=2, stride=2), X, f32(6, 2, 2, 3))
case("cv_dilation", lambda x, w: x.conv2d(w, dilation=2, padding=(1, 2)), X, f32(3, 4, 2, 2))
case("cv_uneven", lambda x, w: x.conv2d(w, stride=(1, 2), padding=(1, 0, 2, 1)), X, f32(3, 4, 3, 2))
case("cv_3d", lambda x, w: x.conv2d(w), f32(1, 2, 4, 5, 6), f32(3, 2, 2, 2, 2))
case("cv_half", lambda x, w: x.conv2d(w), typed("half", 1, 2, 5, 5), typed("half", 3, 2, 3, 3))
case(
    "cv_grad",
    lambda x, w: x.conv2d(w, padding=1).square().sum().gradient(x, w),
    f32(1, 2, 4, 4),
    f32(2, 2, 3, 3),
)
case("cv_transpose", lambda x, w: x.conv_transpose2d(w), f32(1, 2, 4, 4), f32(2, 3, 3, 3))
case(
    "cv_transpose_full",
    lambda x, w, b: x.conv_transpose2d(
        w, b, groups=2, stride=2, padding=1, output_padding=1, dilation=1
    ),
    f32(1, 4, 4, 3),
    f32(4, 2, 3, 3),
    f32(4),
)
case("pl_avg_stride", lambda x: x.avg_pool2d((3, 2), stride=(2, 1)), X)
case("pl_avg_pad", lambda x: x.avg_pool2d(3, padding=1), X)
case("pl_avg_ceil", lambda x: x.avg_pool2d((3, 3), stride=2, padding=1, ceil_mode=True), X)
case(
    "pl_avg_ceil_noinc",
    lambda x: x.avg_pool2d((3, 3), stride=2, padding=1, ceil_mode=True, count_include_pad=False),
    X,
)
case("pl_avg_1d", lambda x: x.avg_pool2d((3,)), f32(1, 2, 9))
case("pl_max", lambda x: x.max_pool2d(), X)
case("pl_max_ceil", lambda x: x.max_pool2d((3, 3), stride=2, padding=1, ceil_mode=True), X)
case("pl_max_dilation", lambda x: x.max_pool2d((2, 2), stride=1, dilation=2), X)
case("pl_max_indices", lambda x: x.max_pool2d((2, 2), return_indices=True), X)
case("pl_max_int", lambda x: x.max_pool2d((2, 2), padding=1), typed("int", 1, 1, 4, 4))
case("pl_max_grad", lambda x: x.max_pool2d((2, 2)).sum().gradient(x)[0], f32(1, 1, 4, 4))
case("pl_linear", lambda x: x.interpolate((3, 8)), f32(1, 2, 5, 4))
case("pl_linear_corners", lambda x: x.interpolate((3, 8), align_corners=True), f32(1, 2, 5, 4))
case("pl_nearest", lambda x: x.interpolate((7,), mode="nearest"), f32(1, 2, 5))
case("pl_nearest_exact", lambda x: x.interpolate((7,), mode="nearest-exact"), f32(1, 2, 5))

# norms, losses, attention
case("nn_groupnorm", lambda x, w, b: _groupnorm(x, w, b), f32(2, 4, 3, 3), f32(4), f32(4))
case(
    "nn_batchnorm",
    lambda x, w, b, m, v: x.batchnorm(w, b, m, v),
    f32(2, 3, 4),
    f32(3),
    f32(3),
    f32(3),
    f32(3),
)
case(
    "nn_batchnorm_plain",
    lambda x, m, v: x.batchnorm(None, None, m, v),
    f32(2, 3, 4),
    f32(3),
    f32(3),
)
case("ls_ce_index", lambda x, y: x.cross_entropy(y), f32(4, 6), typed("int", 4))
case(
    "ls_ce_smooth",
    lambda x, y: x.cross_entropy(y, label_smoothing=0.1, reduction="sum"),
    f32(4, 6),
    typed("int", 4),
)
case(
    "ls_ce_none",
    lambda x, y: x.cross_entropy(y, reduction="none"),
    f32(4, 6, 2),
    typed("int", 4, 2),
)
case("ls_ce_grad", lambda x, y: x.cross_entropy(y).gradient(x)[0], f32(4, 6), f32(4, 6))
case("ls_ce_1d", lambda x, y: x.cross_entropy(y), f32(6), typed("int"))
case("ls_sparse", lambda x, y: x.sparse_categorical_crossentropy(y), f32(4, 6), typed("int", 4))
case(
    "ls_sparse_sum",
    lambda x, y: x.sparse_categorical_crossentropy(y, reduction="sum", label_smoothing=0.2),
    f32(4, 6),
    typed("int", 4),
)
case(
    "ls_sparse_none",
    lambda x, y: x.sparse_categorical_crossentropy(y, reduction="none", ignore_index=1),
    f32(2, 3, 6),
    typed("int", 2, 3),
)
case("ls_bce_sum", lambda x, y: x.binary_crossentropy(y, reduction="sum"), V8, V8)
case(
    "ls_bce_weight", lambda x, y, w: x.binary_crossentropy_logits(y, pos_weight=w), M34, M34, f32(4)
)
case("ls_nll", lambda x, y: x.nll_loss(y), f32(4, 6), typed("int", 4))
case(
    "ls_nll_weight",
    lambda x, y, w: x.nll_loss(y, w, ignore_index=2),
    f32(4, 6),
    typed("int", 4),
    f32(6),
)
case("ls_nll_none", lambda x, y: x.nll_loss(y, reduction="none"), f32(4, 6, 2), typed("int", 4, 2))
QKV = (f32(2, 2, 3, 4), f32(2, 2, 5, 4), f32(2, 2, 5, 6))
case("at_plain", lambda q, k, v: q.scaled_dot_product_attention(k, v), *QKV)
case("at_causal", lambda q, k, v: q.scaled_dot_product_attention(k, v, is_causal=True), *QKV)
case(
    "at_bool_mask",
    lambda q, k, v, m: q.scaled_dot_product_attention(k, v, attn_mask=m),
    *QKV,
    typed("bool", 3, 5),
)
case(
    "at_half", lambda q, k, v: q.scaled_dot_product_attention(k, v), *[(s, "half") for s, _ in QKV]
)
case("at_grad", lambda q, k, v: q.scaled_dot_product_attention(k, v).sum().gradient(q, k, v), *QKV)

# types
for a in ("bool", "char", "uchar", "short", "uint", "long", "half", "bfloat16", "double"):
    case("cast_to_" + a, lambda x, a=a: x.cast(a), V8)
    case("cast_from_" + a, lambda x: x.float() + 1, typed(a, 8))
    case("sum_of_" + a, lambda x: x.sum(0), typed(a, 3, 4))
    case("add_1_to_" + a, lambda x: x + 1, typed(a, 8))
case("bitcast_same", lambda x: x.bitcast(dtypes.int32), V8)
case("bitcast_narrow", lambda x: x.bitcast(dtypes.uint16), typed("uint", 2, 4))
case("bitcast_wide", lambda x: x.bitcast(dtypes.uint64), typed("uchar", 2, 16))

# sizes with variables


def var(name, lo, hi, val):
    return Variable(name, lo, hi).bind(val)


case("sy_mean", lambda x: x[:, : var("i", 1, 6, 4)].mean(1), f32(3, 6))
case("sy_var", lambda x: x[:, : var("i", 1, 6, 4)].var(1), f32(3, 6))
case("sy_softmax", lambda x: x[:, : var("i", 1, 6, 4)].softmax(), f32(3, 6))
case("sy_reshape", lambda x: x[: var("i", 1, 6, 4)].reshape(-1, 2, 2) + 1, f32(6, 4))
case("sy_cat", lambda x, y: x[: var("i", 1, 6, 4)].cat(y), f32(6, 4), f32(2, 4))
case(
    "sy_attention",
    lambda q, k, v: q.scaled_dot_product_attention(
        k[:, : var("i", 1, 5, 3)], v[:, : var("i", 1, 5, 3)]
    ),
    f32(2, 3, 4),
    f32(2, 5, 4),
    f32(2, 5, 4),
)

# models
case("gr_twice", lambda x: (x.tanh() * x).sum().gradient(x)[0].square().sum().gradient(x)[0], V8)
case(
    "gr_layernorm_twice",
    lambda x, c: (x.layernorm() * c).sum().gradient(x)[0].square().sum().gradient(x)[0],
    M34,
    M34,
)
case("gr_seed", lambda x, g: (x * x).gradient(x, gradient=g)[0], V8, V8)
case("gr_detach", lambda x: (x.detach() * x).sum().gradient(x)[0], V8)
case(
    "gr_contiguous",
    lambda x: ((x * 2).contiguous() * x).contiguous_backward().sum().gradient(x)[0],
    V8,
)
case("gr_where", lambda x, y: (x > y).where(x * 2, y * y).sum().gradient(x, y), V8, V8)
case("gr_cast", lambda x: x.half().square().float().sum().gradient(x)[0], V8)
case("gr_shared", lambda x: (x.exp() + x.exp().sum() * x).sum().gradient(x)[0], V8)


def _groupnorm(x, w, b):
    m = nn.GroupNorm(2, 4)
    m.weight, m.bias = w, b
    return m(x)


# Programs that compute or write on the way: they have no graph of their own.
PROGRAMS = {}


def program(name, f, *inputs):
    assert name not in CASES and name not in PROGRAMS, name
    PROGRAMS[name] = (inputs, f)


def _step(make, loss, steps=1):
    """Train: the parameters come first."""

    def run(w, *data):
        w.requires_grad = True
        optimizer = make([w])
        with Tensor.train():
            for _ in range(steps):
                optimizer.zero_grad()
                loss(w, *data).backward()
                optimizer.step()
        return w

    return run


def _square(w, x, y):
    return ((x @ w - y) ** 2).mean()


LINEAR = (f32(4, 3), f32(5, 4), f32(5, 3))
program("tr_sgd", _step(lambda p: nn.optim.SGD(p, lr=0.1), _square), *LINEAR)
program("tr_sgd_twice", _step(lambda p: nn.optim.SGD(p, lr=0.1), _square, 2), *LINEAR)
program("tr_momentum", _step(lambda p: nn.optim.SGD(p, lr=0.1, momentum=0.9), _square), *LINEAR)
program("tr_decay", _step(lambda p: nn.optim.SGD(p, lr=0.1, weight_decay=0.01), _square), *LINEAR)
program("tr_adam", _step(lambda p: nn.optim.Adam(p, lr=0.1), _square), *LINEAR)
program("tr_adamw", _step(lambda p: nn.optim.AdamW(p, lr=0.1), _square), *LINEAR)


def _classified(w, x, y):
    return (x @ w).relu().sparse_categorical_crossentropy(y)


program(
    "tr_classes",
    _step(lambda p: nn.optim.SGD(p, lr=0.1), _classified),
    f32(4, 5),
    f32(3, 4),
    typed("int", 3),
)


def _network(x, w, b, v, c):
    hidden = (x @ w + b).relu()
    return hidden.linear(v, c).log_softmax()


NETWORK = (f32(3, 4), f32(4, 6), f32(6), f32(6, 5), f32(5))
program("md_network", _network, *NETWORK)
program(
    "md_network_grad",
    lambda *p: _network(*p).square().mean().gradient(*p[1:]),
    *NETWORK,
)
program(
    "md_convolutions",
    lambda x, w, v: x.conv2d(w).relu().max_pool2d().conv2d(v).flatten(1).softmax(),
    f32(2, 1, 8, 8),
    f32(3, 1, 3, 3),
    f32(4, 3, 2, 2),
)


def _block(x, qkv, out):
    q, k, v = (x @ qkv).chunk(3, dim=-1)
    mixed = q.scaled_dot_product_attention(k, v, is_causal=True)
    return (x + mixed @ out).layernorm()


program("md_block", _block, f32(1, 4, 6), f32(6, 18), f32(6, 6))
program(
    "md_block_grad",
    lambda x, a, b: _block(x, a, b).square().sum().gradient(a, b),
    f32(1, 4, 6),
    f32(6, 18),
    f32(6, 6),
)


def _realized(x, y):
    z = (x + y).realize()
    return z.sum(0), z * 2


program("rl_between", _realized, M34, M34)


def _assigned(x, y):
    x.assign(x * 2 + y)
    return x


program("rl_assign", _assigned, M34, M34)


def _assigned_twice(x, y):
    x.assign(x + y).realize()
    x.assign(x * y).realize()
    return x.sum()


program("rl_assign_twice", _assigned_twice, M34, M34)
program("rl_set_slice", lambda x, v: _written(x, (slice(None), slice(1, 3)), v), M34, f32(3, 2))
program("rl_set_row", lambda x, v: _written(x, 1, v), M34, f32(4))
program("rl_set_number", lambda x: _written(x, (slice(0, 2), 1), 3.0), M34)


def _cached(cache, k):
    cache[:, 2:3] = k
    return cache[:, :3].sum(1)


program("rl_cache", _cached, f32(2, 5, 4), f32(2, 1, 4))
