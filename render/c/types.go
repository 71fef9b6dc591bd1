package c

import "polygrad/core/uop"

// ctype is how C holds a scalar type: in a variable and in memory. The types that
// not every C compiler knows are held as float and converted when loaded, stored and
// rounded after every operation.
type ctype struct {
	reg, mem string
	suffix   string // of literals
	narrow   string // prefix of the conversion functions of a small float, "" for none
}

var ctypes = map[*uop.DType]ctype{
	uop.Bool:     {reg: "_Bool", mem: "_Bool"},
	uop.Int8:     {reg: "int8_t", mem: "int8_t"},
	uop.Uint8:    {reg: "uint8_t", mem: "uint8_t"},
	uop.Int16:    {reg: "int16_t", mem: "int16_t"},
	uop.Uint16:   {reg: "uint16_t", mem: "uint16_t"},
	uop.Int32:    {reg: "int32_t", mem: "int32_t"},
	uop.Uint32:   {reg: "uint32_t", mem: "uint32_t", suffix: "u"},
	uop.Int64:    {reg: "int64_t", mem: "int64_t", suffix: "ll"},
	uop.Uint64:   {reg: "uint64_t", mem: "uint64_t", suffix: "ull"},
	uop.Float16:  {reg: "float", mem: "uint16_t", suffix: "f", narrow: "f16"},
	uop.BFloat16: {reg: "float", mem: "uint16_t", suffix: "f", narrow: "bf16"},
	uop.FP8E4M3:  {reg: "float", mem: "uint8_t", suffix: "f", narrow: "e4m3"},
	uop.FP8E5M2:  {reg: "float", mem: "uint8_t", suffix: "f", narrow: "e5m2"},
	uop.Float32:  {reg: "float", mem: "float", suffix: "f"},
	uop.Float64:  {reg: "double", mem: "double"},
}

// prelude holds the conversions of small floats, written for both directions in terms of
// exponent and mantissa widths, and integer division that does not trap.
const prelude = `#include <stdint.h>
#define INLINE static inline __attribute__((always_inline))
typedef union { float f; uint32_t u; } pg_bits;
INLINE float pg_wide(uint32_t h, int eb, int mb, int finite) {
  uint32_t e = h >> mb & ((1u << eb) - 1), m = h & ((1u << mb) - 1), s = h >> (eb + mb) & 1;
  int bias = (1 << (eb - 1)) - 1;
  pg_bits r;
  if (!finite && e == (1u << eb) - 1) r.u = m ? 0x7fc00000u : 0x7f800000u;
  else if (finite && (h & 0x7f) == 0x7f) r.u = 0x7fc00000u;
  else if (e == 0) { r.f = (float)m; for (int i = 0; i < bias - 1 + mb; i++) r.f *= 0.5f; }
  else r.u = ((e - bias + 127) << 23) | (m << (23 - mb));
  r.u |= s << 31;
  return r.f;
}
INLINE uint32_t pg_narrow(double v, int eb, int mb, uint32_t top, int saturate) {
  union { double f; uint64_t u; } d = { v };
  uint32_t s = (uint32_t)(d.u >> 63) << (eb + mb);
  uint64_t a = d.u & 0x7fffffffffffffffull;
  int e = (int)(a >> 52) - 1023, bias = (1 << (eb - 1)) - 1;
  if (a > 0x7ff0000000000000ull) return s | (saturate == 1 ? 0x7f : ((1u << eb) - 1) << mb | 1u << (mb - 1));
  if (a == 0x7ff0000000000000ull) return s | (saturate == 1 ? 0x7f : ((1u << eb) - 1) << mb);
  if (e > bias + 1) return s | top;
  if (e < -bias - mb) return s;
  uint64_t m = (a & 0xfffffffffffffull) | 1ull << 52;
  int shift = 52 - mb;
  uint32_t base = 0;
  if (e < 1 - bias) shift += 1 - bias - e; else base = (uint32_t)(e + bias - 1) << mb;
  if (shift > 63) return s;
  uint64_t q = m >> shift, rest = m & ((1ull << shift) - 1), half = 1ull << (shift - 1);
  if (rest > half || (rest == half && (q & 1))) q++;
  uint32_t r = base + (uint32_t)q;
  return s | (r > top ? top : r);
}
INLINE float pg_f16_load(uint16_t h) { return pg_wide(h, 5, 10, 0); }
INLINE uint16_t pg_f16_store(double v) { return (uint16_t)pg_narrow(v, 5, 10, 0x7c00, 0); }
INLINE float pg_bf16_load(uint16_t h) { pg_bits r; r.u = (uint32_t)h << 16; return r.f; }
INLINE uint16_t pg_bf16_store(double v) {
  pg_bits r; r.f = (float)v;
  if (v != v) return (uint16_t)(r.u >> 16 | 0x40);
  return (uint16_t)((r.u + 0x7fff + (r.u >> 16 & 1)) >> 16);
}
INLINE float pg_e4m3_load(uint8_t h) { return pg_wide(h, 4, 3, 1); }
INLINE uint8_t pg_e4m3_store(double v) { return (uint8_t)pg_narrow(v, 4, 3, 0x7e, 1); }
INLINE float pg_e5m2_load(uint8_t h) { return pg_wide(h, 5, 2, 0); }
INLINE uint8_t pg_e5m2_store(double v) { return (uint8_t)pg_narrow(v, 5, 2, 0x7b, 2); }
#define PG_INT(T, n) \
  INLINE T pg_div_##n(T a, T b) { return b == 0 ? 0 : (T)-1 < 0 && b == (T)-1 ? (T)(0 - (uint64_t)a) : (T)(a / b); } \
  INLINE T pg_mod_##n(T a, T b) { return b == 0 ? a : (T)-1 < 0 && b == (T)-1 ? 0 : (T)(a % b); } \
  INLINE T pg_int_##n(double v) { \
    if (v != v) return 0; \
    if ((T)-1 > 0 && sizeof(T) == 8 && v >= 9223372036854775808.0) return v >= 18446744073709551616.0 ? (T)-1 : (T)(uint64_t)v; \
    if (v >= 9223372036854775808.0) return (T)INT64_MAX; \
    if (v < -9223372036854775808.0) return (T)INT64_MIN; \
    return (T)(int64_t)v; }
PG_INT(_Bool, _Bool) PG_INT(int8_t, int8_t) PG_INT(uint8_t, uint8_t) PG_INT(int16_t, int16_t) PG_INT(uint16_t, uint16_t)
PG_INT(int32_t, int32_t) PG_INT(uint32_t, uint32_t) PG_INT(int64_t, int64_t) PG_INT(uint64_t, uint64_t)
`
