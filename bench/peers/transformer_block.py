"""The block of the GPT models of torch_models.py and torch_large_models.py."""

from torch import nn


class TransformerBlock(nn.Module):
    """x [B, T, width] -> [B, T, width], with causal attention. `gelu` is "none" or "tanh", as nn.GELU takes it."""

    def __init__(self, width, heads, gelu="none"):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.result = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(approximate=gelu), nn.Linear(4 * width, width))

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = (part.view(b, t, self.heads, c // self.heads).transpose(1, 2)
                   for part in self.qkv(self.norm1(x)).split(c, 2))
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.result(y.transpose(1, 2).reshape(b, t, c))
        return x + self.mlp(self.norm2(x))
