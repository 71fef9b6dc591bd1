package files

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"polygrad/core/uop"
)

// torchStorage is a block of memory with the elements of tensors.
type torchStorage struct {
	key   string
	dtype *uop.DType // nil for untyped bytes
	size  int64      // bytes
	data  []byte
	found bool
	// A storage may be a part of another one.
	root *torchStorage
	from int64
}

// storageType is a class of storages.
type storageType struct{ dtype *uop.DType }

// torchDType is a data type of PyTorch.
type torchDType struct {
	name  string
	dtype *uop.DType
}

var storageTypes = map[string]*uop.DType{
	"DoubleStorage": uop.Float64, "FloatStorage": uop.Float32, "HalfStorage": uop.Float16, "BFloat16Storage": uop.BFloat16,
	"LongStorage": uop.Int64, "IntStorage": uop.Int32, "ShortStorage": uop.Int16, "CharStorage": uop.Int8,
	"ByteStorage": uop.Uint8, "BoolStorage": uop.Bool,
}

// torchTypes maps PyTorch's data types to ours. Types without an equivalent may be named, but not used by a tensor.
var torchTypes = map[string]*uop.DType{
	"float64": uop.Float64, "float32": uop.Float32, "float16": uop.Float16, "bfloat16": uop.BFloat16, "int64": uop.Int64,
	"int32": uop.Int32, "int16": uop.Int16, "int8": uop.Int8, "uint8": uop.Uint8, "uint16": uop.Uint16, "uint32": uop.Uint32,
	"uint64": uop.Uint64, "bool": uop.Bool, "float8_e4m3fn": uop.FP8E4M3, "float8_e5m2": uop.FP8E5M2,
	"complex64": nil, "complex128": nil,
}

// torchName is PyTorch's name of a type.
func torchName(d *uop.DType) string {
	for name, t := range torchTypes {
		if t == d {
			return name
		}
	}
	return d.String()
}

// functions are the globals that pickles may call. Arguments were counted only where a function says so.
var functions map[string]func(p *pickle, args []Value) (Value, error)

func init() { // they call each other
	functions = map[string]func(p *pickle, args []Value) (Value, error){
		"collections.OrderedDict":                    orderedDict,
		"collections.Counter":                        orderedDict,
		"torch._utils._rebuild_tensor":               rebuild(4),
		"torch._utils._rebuild_tensor_v2":            rebuild(6),
		"torch._utils._rebuild_tensor_v3":            rebuild(7),
		"torch._utils._rebuild_parameter":            firstTensor,
		"torch._utils._rebuild_parameter_with_state": firstTensor,
		"torch._tensor._rebuild_from_type_v2":        fromType,
		"torch.nn.parameter.Parameter":               parameter,
		"torch.Size":                                 tuple,
		"torch.device":                               device,
		"builtins.set":                               list, "__builtin__.set": list,
		"builtins.frozenset": list, "__builtin__.frozenset": list,
		"_codecs.encode":                encode,
		"numpy.dtype":                   numpyType,
		"numpy.core.multiarray.scalar":  numpyScalar,
		"numpy._core.multiarray.scalar": numpyScalar,
	}
}

// torchGlobal resolves a global in a pickle of PyTorch.
func torchGlobal(module, name string) *global {
	full := module + "." + name
	if f, ok := functions[full]; ok {
		return &global{name: full, call: f}
	}
	if module == "torch" || module == "torch.cuda" {
		if d, ok := storageTypes[name]; ok {
			return &global{name: full, value: &storageType{d}}
		}
	}
	if full == "torch.storage.UntypedStorage" || full == "torch.UntypedStorage" {
		return &global{name: full, value: &storageType{}}
	}
	if d, ok := torchTypes[name]; ok && module == "torch" {
		return &global{name: full, value: &torchDType{full, d}}
	}
	// Classes that only mark the kind of a tensor.
	if full == "torch.Tensor" || full == "torch._tensor.Tensor" || module == "torch" && tensorClasses[name] {
		return &global{name: full, value: full}
	}
	return nil
}

var tensorClasses = map[string]bool{
	"DoubleTensor": true, "FloatTensor": true, "HalfTensor": true, "BFloat16Tensor": true, "LongTensor": true, "IntTensor": true,
	"ShortTensor": true, "CharTensor": true, "ByteTensor": true, "BoolTensor": true,
}

func wanted(what string, args []Value) error {
	kinds := make([]string, len(args))
	for i, a := range args {
		kinds[i] = kindOf(a)
	}
	return fmt.Errorf("called with %v, expected %s", kinds, what)
}

// orderedDict makes a map, empty or of another map or a list of pairs.
func orderedDict(p *pickle, args []Value) (Value, error) {
	d := NewDict()
	if len(args) == 0 {
		return d, nil
	}
	switch from := args[0].(type) {
	case *Dict:
		if err := p.spend(from.Len()); err != nil {
			return nil, err
		}
		for k, v := range from.All() {
			d.Set(k, v)
		}
		return d, nil
	case *List:
		if err := p.spend(len(from.Items)); err != nil {
			return nil, err
		}
		for _, item := range from.Items {
			pair, ok := item.(*List)
			if !ok || len(pair.Items) != 2 {
				return nil, wanted("pairs", args)
			}
			if err := fill(d, pair.Items); err != nil {
				return nil, err
			}
		}
		return d, nil
	}
	return nil, wanted("pairs", args)
}

func list(p *pickle, args []Value) (Value, error)  { return copyList(p, args, false) }
func tuple(p *pickle, args []Value) (Value, error) { return copyList(p, args, true) }

func copyList(p *pickle, args []Value, isTuple bool) (Value, error) {
	if len(args) == 0 {
		return &List{Tuple: isTuple}, nil
	}
	from, ok := args[0].(*List)
	if !ok || len(args) != 1 {
		return nil, wanted("a list", args)
	}
	return &List{slices.Clone(from.Items), isTuple}, p.spend(len(from.Items))
}

// device is the name of a device.
func device(_ *pickle, args []Value) (Value, error) {
	if len(args) == 0 || len(args) > 2 {
		return nil, wanted("a name and a number", args)
	}
	name, ok := args[0].(string)
	if ok && len(args) == 2 {
		n, isInt := args[1].(int64)
		name, ok = name+":"+strconv.FormatInt(n, 10), isInt
	}
	if !ok || len(name) > maxPickleLine {
		return nil, wanted("a name and a number", args)
	}
	return name, nil
}

// encode is codecs.encode: pickles of protocol 2 hold bytes as a latin1 text.
func encode(p *pickle, args []Value) (Value, error) {
	if len(args) != 2 || args[1] != "latin1" {
		return nil, wanted("a text and latin1", args)
	}
	s, ok := args[0].(string)
	if !ok {
		return nil, wanted("a text and latin1", args)
	}
	if err := p.spend(len(s)); err != nil {
		return nil, err
	}
	var out []byte
	for _, r := range s {
		if r > math.MaxUint8 {
			return nil, errors.New("a character that no byte stands for")
		}
		out = append(out, byte(r))
	}
	return out, nil
}

// numpyTypes are the types of single numbers by numpy's names.
var numpyTypes = map[string]*uop.DType{
	"f8": uop.Float64, "f4": uop.Float32, "f2": uop.Float16, "i8": uop.Int64, "i4": uop.Int32, "i2": uop.Int16, "i1": uop.Int8,
	"u8": uop.Uint64, "u4": uop.Uint32, "u2": uop.Uint16, "u1": uop.Uint8, "b1": uop.Bool,
}

func numpyType(_ *pickle, args []Value) (Value, error) {
	if len(args) > 0 {
		if name, ok := args[0].(string); ok && numpyTypes[name] != nil {
			return &pending{numpyTypes[name], func(_ *pending, state Value) error {
				if s, ok := state.(*List); ok && len(s.Items) > 1 && s.Items[1] != ">" {
					return nil
				}
				return errors.New("numbers with swapped bytes are not read")
			}}, nil
		}
	}
	return nil, wanted("the name of a type of numbers", args)
}

func numpyScalar(_ *pickle, args []Value) (Value, error) {
	if len(args) == 2 {
		t, ok := args[0].(*pending)
		b, isBytes := args[1].([]byte)
		if s, isText := args[1].(string); isText {
			b, isBytes = []byte(s), true
		}
		if ok && isBytes {
			if d, ok := t.value.(*uop.DType); ok && d.Itemsize() == len(b) {
				return numberOf(d, b), nil
			}
		}
	}
	return nil, wanted("a type of numbers and the bytes of one", args)
}

// numberOf decodes a number of a type.
func numberOf(d *uop.DType, b []byte) Value {
	var room [8]byte
	copy(room[:], b)
	bits := le.Uint64(room[:])
	switch {
	case d.IsFloat():
		return uop.FromBits(d, bits).F()
	case d.IsBool():
		return bits != 0
	case d.IsUnsigned():
		return unsigned(bits)
	}
	shift := 64 - 8*d.Itemsize()
	return int64(bits<<shift) >> shift
}

// rebuild makes a function that makes a tensor from a storage, an offset, a shape and strides. Further arguments are ignored,
// except the seventh, the type.
func rebuild(least int) func(p *pickle, args []Value) (Value, error) {
	const dtypeAt = 6
	return func(_ *pickle, args []Value) (Value, error) {
		const what = "a storage, an offset, a shape, strides"
		if len(args) < least {
			return nil, wanted(what, args)
		}
		s, ok := args[0].(*torchStorage)
		offset, isInt := args[1].(int64)
		shape, isShape := ints(args[2])
		strides, isStrides := ints(args[3])
		if !ok || !isInt || !isShape || !isStrides || len(shape) != len(strides) {
			return nil, wanted(what, args)
		}
		d := s.dtype
		if least > dtypeAt {
			t, ok := args[dtypeAt].(*torchDType)
			if !ok {
				return nil, wanted(what+" and a type", args)
			}
			if d = t.dtype; d == nil {
				return nil, fmt.Errorf("tensors of %s cannot be read", t.name)
			}
		}
		if d == nil {
			return nil, errors.New("a tensor in a storage without a type")
		}
		return &torchTensor{storage: s, offset: offset, tensor: &Tensor{DType: d, Type: torchName(d), Shape: shape, Strides: strides}}, nil
	}
}

// ints are the integers of a tuple.
func ints(v Value) ([]int64, bool) {
	l, ok := v.(*List)
	if !ok || len(l.Items) > maxDims {
		return nil, false
	}
	out := make([]int64, len(l.Items))
	for i, item := range l.Items {
		if out[i], ok = item.(int64); !ok {
			return nil, false
		}
	}
	return out, true
}

// firstTensor is the tensor in a parameter.
func firstTensor(_ *pickle, args []Value) (Value, error) {
	if len(args) > 0 {
		if t, ok := args[0].(*torchTensor); ok {
			return t, nil
		}
	}
	return nil, wanted("a tensor", args)
}

// fromType wraps another function for tensors of a class.
func fromType(p *pickle, args []Value) (Value, error) {
	if len(args) >= 3 {
		g, ok := args[0].(*global)
		list, isList := args[2].(*List)
		if ok && isList && slices.Contains([]string{"torch._utils._rebuild_tensor_v2", "torch._utils._rebuild_tensor_v3"}, g.name) {
			return g.call(p, list.Items)
		}
	}
	return nil, wanted("a function that makes a tensor, its class and arguments", args)
}

// parameter makes a parameter from a tensor, or from a later one.
func parameter(p *pickle, args []Value) (Value, error) {
	if len(args) > 0 {
		return firstTensor(p, args)
	}
	return &pending{nil, func(o *pending, state Value) error {
		if l, ok := state.(*List); ok && len(l.Items) > 0 {
			if t, ok := l.Items[0].(*torchTensor); ok {
				o.value = t
				return nil
			}
		}
		return errors.New("a parameter without a tensor")
	}}, nil
}
