package ir

// opNames are the operations as dumps and errors name them.
var opNames = [numOps]string{
	Const: "const", Var: "var", Iter: "iter", First: "first", Items: "items", Lane: "lane", Phi: "phi", Final: "final",
	Load: "load", LoadQuad: "loadQuad", QuadPart: "quadPart", Splat: "splat", Extract: "extract", Insert: "insert", Sum: "sum", Product: "product", MaxLanes: "maxlanes", AndAll: "andall",
	OrAll: "orall", XorAll: "xorall", AnyLane: "anylane", Transpose: "transpose", Spread: "spread", ShiftLanes: "shiftLanes", Interleave: "interleave", Lookup: "lookup", Add: "add", Sub: "sub", Mul: "mul", Div: "div",
	Mod: "mod", Neg: "neg", Max: "max", MaxSS: "maxss", MinSS: "minss", Abs: "abs", Sqrt: "sqrt", Trunc: "trunc",
	Round: "round", Floor: "floor", FMA: "fma", NFMA: "nfma", Scale: "scale", Exponent: "exponent", Fraction: "fraction", Exp: "exp", Exp2: "exp2", Log2: "log2", Sin: "sin",
	Cos: "cos", Tanh: "tanh", And: "and", Or: "or", Xor: "xor", AndNot: "andnot", Shl: "shl", Shr: "shr", Rotate: "rotate",
	Less: "less", LessEqual: "lessequal", Equal: "equal", NotEqual: "notequal", Where: "where", Cast: "cast", Bitcast: "bitcast", Narrow: "narrow",
}

func (o Op) String() string { return opNames[o] }
