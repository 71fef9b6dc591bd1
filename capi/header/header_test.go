package header

import (
	"slices"
	"testing"
)

const sample = `
/* Comments do not count: POLY_API int poly_ghost(void); */
typedef enum {
  POLY_BLUE = 7
} PolyColour;
enum {
  POLY_GREEN = 3,
};
POLY_API int poly_count(void);
POLY_API const char *poly_name(int i); /* trailing */
POLY_API PolyUOp *poly_pad(PolyCtx *ctx, PolyUOp *src, int64_t (*pairs)[2],
                           int ndim);
POLY_API void poly_free(const PolyStep *step, const int64_t **shapes, PolyUOp **xs);
`

func TestParseHeader(t *testing.T) {
	protos, err := Parse(sample)
	if err != nil {
		t.Fatal(err)
	}
	want := []Proto{
		{"int", "poly_count", nil},
		{"const char *", "poly_name", []Param{{"int", "i"}}},
		{"PolyUOp *", "poly_pad", []Param{{"PolyCtx *", "ctx"}, {"PolyUOp *", "src"}, {"int64_t (*)[2]", "pairs"}, {"int", "ndim"}}},
		{"void", "poly_free", []Param{{"const PolyStep *", "step"}, {"const int64_t **", "shapes"}, {"PolyUOp **", "xs"}}},
	}
	if !slices.EqualFunc(protos, want, func(a, b Proto) bool {
		return a.Ret == b.Ret && a.Name == b.Name && slices.Equal(a.Params, b.Params)
	}) {
		t.Errorf("got %+v\nexpected %+v", protos, want)
	}
	constants, err := Constants(sample)
	if err != nil || !slices.Equal(constants, []Constant{{"POLY_BLUE", 7}, {"POLY_GREEN", 3}}) {
		t.Errorf("constants %v, %v", constants, err)
	}
}
