package ir

// ConstInt is the value of an integer constant.
func ConstInt(v *Value) int64 {
	if v.Kind == I64 || v.Kind == U64 || v.Kind == U32 {
		return int64(v.Bits)
	}
	return int64(int32(v.Bits))
}
