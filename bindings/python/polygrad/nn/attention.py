"""Multi-head attention, and transformer blocks."""

from __future__ import annotations

from collections.abc import Callable

from polygrad._library import integer, need, number, wrong
from polygrad.nn.layers import Dropout, LayerNorm, Linear, RMSNorm
from polygrad.tensor import Tensor


class MultiHeadAttention:
    """Multi-head attention (Vaswani et al., Attention Is All You Need, arXiv:1706.03762).

    q_proj, k_proj and v_proj (Linear) make queries, keys and values of width embed_dim / num_heads
    for each head, o_proj projects the concatenated heads. num_kv_heads, a divisor of num_heads,
    lets several query heads share one key-value head (Ainslie et al., GQA,
    arXiv:2305.13245). dropout acts on the weights while Tensor.training is set.

    >>> x = Tensor.ones(2, 5, 8)
    >>> MultiHeadAttention(8, num_heads=4, num_kv_heads=2)(x, is_causal=True).shape
    (2, 5, 8)
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        num_kv_heads: int | None = None,
        bias: bool = True,
        dropout: float = 0.0,
    ) -> None:
        embed_dim, num_heads = integer("embed_dim", embed_dim), integer("num_heads", num_heads)
        shared = num_heads if num_kv_heads is None else integer("num_kv_heads", num_kv_heads)
        for name, value, whole in (
            ("num_heads", num_heads, embed_dim),
            ("num_kv_heads", shared, num_heads),
        ):
            if value < 1 or whole % value:
                raise wrong(name, value, f"a part of {whole}")
        if not 0 <= number("dropout", dropout) <= 1:
            raise wrong("dropout", dropout, "0 to 1")
        self.num_heads, self.num_kv_heads, self.dropout = num_heads, shared, dropout
        self.head_dim = embed_dim // num_heads
        self.q_proj = Linear(embed_dim, embed_dim, bias)
        self.k_proj = Linear(embed_dim, self.head_dim * shared, bias)
        self.v_proj = Linear(embed_dim, self.head_dim * shared, bias)
        self.o_proj = Linear(embed_dim, embed_dim, bias)

    def __call__(
        self,
        query: Tensor,
        key: Tensor | None = None,
        value: Tensor | None = None,
        attn_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        """Return the attention of query (…, L, embed_dim) to key and value (…, S, embed_dim).

        key is query by default, and value is key. attn_mask, which broadcasts to
        (…, heads, L, S), is bool and tells which pairs may attend, or is added to the scores;
        is_causal masks the keys after the query.
        """
        key = query if key is None else key
        value = key if value is None else value
        size = self.num_heads * self.head_dim
        for name, x in (("query", query), ("key", key), ("value", value)):
            if need(Tensor, name, x, "a tensor").ndim < 2 or x.shape[-1] != size:
                raise wrong(name, f"shape {x.shape}", f"(…, L, {size})")
        given = ((self.q_proj, query), (self.k_proj, key), (self.v_proj, value))
        q, k, v = (
            layer(x).unflatten(-1, (-1, self.head_dim)).transpose(-3, -2) for layer, x in given
        )
        dropout = self.dropout if Tensor.training else 0.0
        shared = self.num_kv_heads != self.num_heads
        heads = q.scaled_dot_product_attention(k, v, attn_mask, dropout, is_causal, shared)
        return self.o_proj(heads.transpose(-3, -2).flatten(-2))


_NORMS: dict[str, type[LayerNorm] | type[RMSNorm]] = {"layer": LayerNorm, "rms": RMSNorm}


class TransformerBlock:
    """A transformer block: attention, then two linear layers, each with a residual connection.

    y = x + attn(attn_norm(x)), then y + down(activation(up(ff_norm(y)))). norm is "layer" or
    "rms"; without pre_norm the norms are applied to the sums instead. up has ff_dim units, 4 *
    embed_dim by default. dropout acts on attention weights and on both residual branches while
    Tensor.training is set. causal masks later positions.

    >>> TransformerBlock(8, num_heads=2, causal=True)(Tensor.ones(1, 5, 8)).shape
    (1, 5, 8)
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        ff_dim: int | None = None,
        num_kv_heads: int | None = None,
        bias: bool = True,
        dropout: float = 0.0,
        causal: bool = False,
        pre_norm: bool = True,
        norm: str = "layer",
        activation: Callable[[Tensor], Tensor] = Tensor.gelu,
    ) -> None:
        if norm not in list(_NORMS):
            raise wrong("norm", repr(norm), "'layer' or 'rms'")
        need(Callable, "activation", activation, "a function")
        embed_dim = integer("embed_dim", embed_dim)
        ff_dim = 4 * embed_dim if ff_dim is None else integer("ff_dim", ff_dim)
        self.causal, self.pre_norm, self.activation = causal, pre_norm, activation
        self.attn_norm, self.ff_norm = _NORMS[norm](embed_dim), _NORMS[norm](embed_dim)
        self.attn = MultiHeadAttention(embed_dim, num_heads, num_kv_heads, bias, dropout)
        self.up, self.down = Linear(embed_dim, ff_dim, bias), Linear(ff_dim, embed_dim, bias)
        self.dropout = Dropout(dropout)

    def __call__(self, x: Tensor, attn_mask: Tensor | None = None) -> Tensor:
        """Return a tensor of the shape of x, (…, L, embed_dim); attn_mask as in attention."""

        def attend(y: Tensor) -> Tensor:
            return self.dropout(self.attn(y, attn_mask=attn_mask, is_causal=self.causal))

        def feed(y: Tensor) -> Tensor:
            return self.dropout(self.down(self.activation(self.up(y))))

        if not self.pre_norm:
            x = self.attn_norm(x + attend(x))
            return self.ff_norm(x + feed(x))
        x = x + attend(self.attn_norm(x))
        return x + feed(self.ff_norm(x))
