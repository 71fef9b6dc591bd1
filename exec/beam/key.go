package beam

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"polygrad/core/uop"
)

// version counts the changes of the code generator that invalidate cached choices.
const version = 13

// keyLength is the length of keys.
const keyLength = 32

// Key identifies a kernel: equal for lists of equal structure, types and sizes, whatever their names and buffers.
func Key(list []*uop.UOp) string {
	number := make(map[*uop.UOp]int, len(list))
	var b strings.Builder
	var add func(u *uop.UOp) int
	add = func(u *uop.UOp) int {
		if n, ok := number[u]; ok {
			return n
		}
		src := make([]int, len(u.Src))
		for i, s := range u.Src {
			src[i] = add(s)
		}
		number[u] = len(number)
		fmt.Fprintf(&b, "%s %s %v %v\n", u.Op, u.DType, u.Arg, src)
		return number[u]
	}
	for _, u := range list {
		if u.Op != uop.Sink {
			add(u)
		}
	}
	return digest(b.String())
}

// MachineKey identifies a description of a machine and the version of the code generator.
func MachineKey(description ...any) string {
	return digest(fmt.Sprintf("%d %+v", version, description))[:16]
}

func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])[:keyLength]
}
