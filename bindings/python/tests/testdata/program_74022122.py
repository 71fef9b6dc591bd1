"""A sum over r selects where the position, which depends on r itself, is r."""

from polygrad import Tensor

x = Tensor([-4.5, 2.25, 3.375], requires_grad=True)
where = (Tensor([[2.75, -0.125]]) < -1.625).cast("int32")
(x + 0).diag().gather(0, where).sum().backward()
assert x.grad is not None and x.grad.tolist() == [1.0, 0.0, 0.0]
