/* Included by sort.c once for each type of numbers: LANES of them, each a NUMBER, are a vector.
 *
 * A part of a row is split by a pivot from one buffer into another and back. What is at most the pivot goes to the front, the rest to the
 * end, both as one compressed vector that is stored twice: there is as much room between them as is left to be read. Up to ROWS vectors are
 * sorted in registers: each lane by a network of comparisons, then neighbouring lanes are merged into sequences of twice the length. */

enum { NAME(ROWS) = 16, NAME(SMALL) = NAME(ROWS) * LANES };

#define V __m512i
#define MOST ((NUMBER)-1)

ALWAYS V NAME(at_lanes)(int flipped) {
#if LANES == 16
  return _mm512_xor_si512(_mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15), SET1(flipped));
#else
  return _mm512_xor_si512(_mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7), SET1(flipped));
#endif
}

/* The lanes that have a bit of their number set. */
ALWAYS MASK NAME(upper)(int bit) {
  return (MASK)(bit == 1 ? 0xaaaa : bit == 2 ? 0xcccc : bit == 4 ? 0xf0f0 : 0xff00);
}

ALWAYS V NAME(pick)(V lower, V upper, int bit) {
  return OF(_mm512_mask_mov)(lower, NAME(upper)(bit), upper);
}

ALWAYS void NAME(exchange)(V *v, int i, int j) {
  V a = v[i], b = v[j];
  v[i] = OF_UNSIGNED(_mm512_min)(a, b);
  v[j] = OF_UNSIGNED(_mm512_max)(a, b);
}

/* Sorts each lane of so many vectors. */
ALWAYS void NAME(sort_lanes)(V *v, int rows) {
#define E(i, j) NAME(exchange)(v, i, j);
  if (rows == 2) {
    E(0, 1)
  } else if (rows == 4) {
    E(0, 1) E(2, 3) E(0, 2) E(1, 3) E(1, 2)
  } else if (rows == 8) {
    E(0, 2) E(1, 3) E(4, 6) E(5, 7) E(0, 4) E(1, 5) E(2, 6) E(3, 7) E(0, 1) E(2, 3)
    E(4, 5) E(6, 7) E(2, 4) E(3, 5) E(1, 4) E(3, 6) E(1, 2) E(3, 4) E(5, 6)
  } else if (rows == 16) { /* 60 comparisons (Green, 1969) */
    E(0, 13) E(1, 12) E(2, 15) E(3, 14) E(4, 8) E(5, 6) E(7, 11) E(9, 10)
    E(0, 5) E(1, 7) E(2, 9) E(3, 4) E(6, 13) E(8, 14) E(10, 15) E(11, 12)
    E(0, 1) E(2, 3) E(4, 5) E(6, 8) E(7, 9) E(10, 11) E(12, 13) E(14, 15)
    E(0, 2) E(1, 3) E(4, 10) E(5, 11) E(6, 7) E(8, 9) E(12, 14) E(13, 15)
    E(1, 2) E(3, 12) E(4, 6) E(5, 7) E(8, 10) E(9, 11) E(13, 14)
    E(1, 4) E(2, 6) E(5, 8) E(7, 10) E(9, 13) E(11, 14)
    E(2, 4) E(3, 6) E(9, 12) E(11, 13)
    E(3, 5) E(6, 8) E(7, 9) E(10, 12)
    E(3, 4) E(5, 6) E(7, 8) E(9, 10) E(11, 12)
    E(6, 7) E(8, 9)
  }
#undef E
}

/* Lanes that differ in a bit below 2 * lanes become one sequence: the second half is read from its end. */
ALWAYS void NAME(join_lanes)(V *v, int rows, int lanes) {
  V back = NAME(at_lanes)(2 * lanes - 1);
#pragma GCC unroll 16
  for (int i = 0; i < (rows + 1) / 2; i++) {
    int j = rows - 1 - i;
    V a = v[i], b = v[j];
    V p = OF(_mm512_permutexvar)(back, b), q = OF(_mm512_permutexvar)(back, a);
    v[i] = NAME(pick)(OF_UNSIGNED(_mm512_min)(a, p), OF_UNSIGNED(_mm512_max)(a, p), lanes);
    v[j] = NAME(pick)(OF_UNSIGNED(_mm512_min)(b, q), OF_UNSIGNED(_mm512_max)(b, q), lanes);
  }
#pragma GCC unroll 4
  for (int bit = lanes / 2; bit > 0; bit /= 2) {
    V other = NAME(at_lanes)(bit);
#pragma GCC unroll 16
    for (int i = 0; i < rows; i++) {
      V p = OF(_mm512_permutexvar)(other, v[i]);
      v[i] = NAME(pick)(OF_UNSIGNED(_mm512_min)(v[i], p), OF_UNSIGNED(_mm512_max)(v[i], p), bit);
    }
  }
#pragma GCC unroll 4
  for (int distance = rows / 2; distance > 0; distance /= 2) {
#pragma GCC unroll 16
    for (int i = 0; i < rows; i++)
      if (!(i & distance)) NAME(exchange)(v, i, i + distance);
  }
}

/* Puts the elements of the lanes, one lane after the other, in the order of vectors. */
ALWAYS void NAME(transpose)(V *v, int rows) {
#if LANES == 16
  V low = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
#else
  V low = _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11);
#endif
  V high = _mm512_add_epi32(low, OF(_mm512_maskz_set1)((MASK)-1, LANES / 2));
  V w[NAME(ROWS)];
#pragma GCC unroll 4
  for (int step = 1; step < rows; step *= 2) {
#pragma GCC unroll 16
    for (int i = 0; i < rows / 2; i++) {
      w[2 * i] = OF(_mm512_permutex2var)(v[i], low, v[i + rows / 2]);
      w[2 * i + 1] = OF(_mm512_permutex2var)(v[i], high, v[i + rows / 2]);
    }
#pragma GCC unroll 16
    for (int i = 0; i < rows; i++) v[i] = w[i];
  }
}

ALWAYS void NAME(sort_vectors)(V *v, int rows) {
  NAME(sort_lanes)(v, rows);
  NAME(join_lanes)(v, rows, 1);
  NAME(join_lanes)(v, rows, 2);
  NAME(join_lanes)(v, rows, 4);
  if (LANES == 16) NAME(join_lanes)(v, rows, LANES / 2);
  NAME(transpose)(v, rows);
}

ALWAYS MASK NAME(first)(uint64_t n) { return (MASK)_bzhi_u32(0xffff, n > LANES ? LANES : (unsigned)n); }

/* Sorts up to so many vectors in registers. */
ALWAYS void NAME(in_registers)(const NUMBER *from, NUMBER *to, uint64_t n, int rows) {
  V v[NAME(ROWS)];
  uint64_t whole = n / LANES;
  MASK last = NAME(first)(n % LANES);
#pragma GCC unroll 16
  for (int i = 0; i < rows; i++) {
    if (i < rows / 2 || (uint64_t)i < whole)
      v[i] = _mm512_loadu_si512(from + i * LANES);
    else
      v[i] = OF(_mm512_mask_loadu)(SET1(MOST), (uint64_t)i == whole ? last : 0, from + i * LANES);
  }
  NAME(sort_vectors)(v, rows);
#pragma GCC unroll 16
  for (int i = 0; i < rows; i++) {
    if (i < rows / 2 || (uint64_t)i < whole)
      _mm512_storeu_si512(to + i * LANES, v[i]);
    else if ((uint64_t)i == whole)
      OF(_mm512_mask_storeu)(to + i * LANES, last, v[i]);
  }
}

static void __attribute__((noinline)) NAME(small)(const NUMBER *from, NUMBER *to, uint64_t n) {
  if (n <= LANES) {
    MASK m = NAME(first)(n);
    V v = OF(_mm512_mask_loadu)(SET1(MOST), m, from);
    NAME(sort_vectors)(&v, 1);
    OF(_mm512_mask_storeu)(to, m, v);
  } else if (n <= 2 * LANES) {
    NAME(in_registers)(from, to, n, 2);
  } else if (n <= 4 * LANES) {
    NAME(in_registers)(from, to, n, 4);
  } else if (n <= 8 * LANES) {
    NAME(in_registers)(from, to, n, 8);
  } else {
    NAME(in_registers)(from, to, n, 16);
  }
}

/* The middle one of the medians, lane by lane, of three or nine vectors from all over. */
static NUMBER NAME(pivot)(const NUMBER *from, uint64_t n) {
  enum { MANY = 1 << 12 };
  int chunks = n < MANY ? 3 : 9;
  V v[9];
  for (int i = 0; i < chunks; i++) v[i] = _mm512_loadu_si512(from + (n - LANES) / (unsigned)(chunks - 1) * (unsigned)i);
  for (; chunks > 1; chunks /= 3) {
    for (int i = 0; i < chunks / 3; i++) {
      V a = v[3 * i], b = v[3 * i + 1], c = v[3 * i + 2];
      V least = OF_UNSIGNED(_mm512_min)(a, b), most = OF_UNSIGNED(_mm512_max)(a, b);
      v[i] = OF_UNSIGNED(_mm512_max)(least, OF_UNSIGNED(_mm512_min)(most, c));
    }
  }
  NAME(sort_vectors)(v, 1);
  NUMBER sorted[LANES];
  _mm512_storeu_si512(sorted, v[0]);
  return sorted[LANES / 2 - 1];
}

/* Splits n numbers, a vector at least: those that are less than the pivot, or with equal set not greater, come first. Returns how many. */
ALWAYS uint64_t NAME(split)(const NUMBER *from, NUMBER *to, uint64_t n, NUMBER pivot, int equal) {
  V p = SET1(pivot);
  NUMBER *low = to, *high = to + n - LANES;
#define SPLIT(v)                                                                             \
  do {                                                                                       \
    MASK m = equal ? COMPARE(_mm512_cmple)(v, p) : COMPARE(_mm512_cmplt)(v, p);              \
    unsigned k = (unsigned)_mm_popcnt_u32(m);                                                \
    V both = OF(_mm512_maskz_compress)(m, v);                                                \
    MASK rest = (MASK)(0xffffu << k);                                                        \
    both = OF(_mm512_mask_expand)(both, rest, OF(_mm512_maskz_compress)((MASK)~m, v));       \
    _mm512_storeu_si512(low, both);                                                          \
    _mm512_storeu_si512(high, both);                                                         \
    low += k;                                                                                \
    high -= LANES - k;                                                                       \
  } while (0)
  uint64_t i = 0;
  for (; i + 5 * LANES <= n; i += 4 * LANES) {
    V a = _mm512_loadu_si512(from + i), b = _mm512_loadu_si512(from + i + LANES);
    V c = _mm512_loadu_si512(from + i + 2 * LANES), d = _mm512_loadu_si512(from + i + 3 * LANES);
    SPLIT(a);
    SPLIT(b);
    SPLIT(c);
    SPLIT(d);
  }
  for (; i + 2 * LANES <= n; i += LANES) {
    V a = _mm512_loadu_si512(from + i);
    SPLIT(a);
  }
#undef SPLIT
  NUMBER *end = high + LANES;
  for (; i < n; i += LANES) { /* the two stores would overlap */
    MASK there = NAME(first)(n - i);
    V v = OF(_mm512_maskz_loadu)(there, from + i);
    MASK m = there & (equal ? COMPARE(_mm512_cmple)(v, p) : COMPARE(_mm512_cmplt)(v, p));
    MASK rest = there & (MASK)~m;
    unsigned k = (unsigned)_mm_popcnt_u32(m), others = (unsigned)_mm_popcnt_u32(rest);
    OF(_mm512_mask_storeu)(low, NAME(first)(k), OF(_mm512_maskz_compress)(m, v));
    low += k;
    end -= others;
    OF(_mm512_mask_storeu)(end, NAME(first)(others), OF(_mm512_maskz_compress)(rest, v));
  }
  return (uint64_t)(low - to);
}

/* Where pivots are bad too often. */
static void __attribute__((noinline)) NAME(heap_sort)(NUMBER *x, uint64_t n) {
  for (uint64_t start = n / 2, end = n; end > 1;) {
    NUMBER v;
    if (start > 0) {
      v = x[--start];
    } else {
      v = x[--end];
      x[end] = x[0];
    }
    uint64_t i = start;
    for (uint64_t j; (j = 2 * i + 1) < end; i = j) {
      if (j + 1 < end && x[j] < x[j + 1]) j++;
      if (v >= x[j]) break;
      x[i] = x[j];
    }
    x[i] = v;
  }
}

/* Sorts n numbers into a buffer, by way of another one; from is one of the two, or read only. */
static void NAME(sort_part)(const NUMBER *from, NUMBER *to, NUMBER *other, uint64_t n, int depth) {
  while (n > NAME(SMALL)) {
    if (depth-- == 0) {
      memmove(to, from, n * sizeof(NUMBER));
      NAME(heap_sort)(to, n);
      return;
    }
    NUMBER pivot = NAME(pivot)(from, n);
    NUMBER *next = from == other ? to : other;
    uint64_t k = NAME(split)(from, next, n, pivot, 1);
    if (k == n) { /* the pivot is the greatest: its equals are in place */
      k = NAME(split)(from, next, n, pivot, 0);
      for (uint64_t i = k; i < n; i++) to[i] = pivot;
      n = k;
    } else {
      NAME(sort_part)(next + k, to + k, other + k, n - k, depth);
      n = k;
    }
    from = next;
  }
  if (n > 0) NAME(small)(from, to, n);
}

void NAME(poly_native_sort)(const uint64_t *args, uint64_t n) {
  NUMBER *to = (NUMBER *)(uintptr_t)args[0], *other = (NUMBER *)(uintptr_t)args[4];
  const NUMBER *from = (const NUMBER *)(uintptr_t)args[1];
  int depth = 2 * (64 - __builtin_clzll(n | 1));
  for (uint64_t row = args[2]; row < args[2] + args[3]; row++)
    NAME(sort_part)(from + row * n, to + row * n, other, n, depth);
}

/* Splits a row several times, each time from one buffer into another: what is less comes first. bounds say where the parts begin, in the end. */
void NAME(poly_native_cut)(const uint64_t *args, uint64_t n, uint64_t times) {
  NUMBER *other = (NUMBER *)(uintptr_t)args[0], *to = (NUMBER *)(uintptr_t)args[1];
  const NUMBER *from = (const NUMBER *)(uintptr_t)args[2];
  uint64_t *bounds = (uint64_t *)(uintptr_t)args[3];
  bounds[0] = 0;
  bounds[1] = n;
  for (uint64_t time = 0; time < times; time++) {
    NUMBER *next = (times - time) % 2 == 1 ? other : to;
    for (uint64_t part = (uint64_t)1 << time; part-- > 0;) {
      uint64_t first = bounds[part], count = bounds[part + 1] - first, k = count;
      if (count > LANES)
        k = NAME(split)(from + first, next + first, count, NAME(pivot)(from + first, count), 1);
      else
        memcpy(next + first, from + first, count * sizeof(NUMBER));
      bounds[2 * part + 2] = first + count;
      bounds[2 * part + 1] = first + k;
      bounds[2 * part] = first;
    }
    from = next;
  }
}

/* Sorts the parts of a row: args are to, from, which may be overwritten, bounds, the first part, how many parts. */
void NAME(poly_native_sort_parts)(const uint64_t *args, uint64_t n) {
  NUMBER *to = (NUMBER *)(uintptr_t)args[0], *from = (NUMBER *)(uintptr_t)args[1];
  const uint64_t *bounds = (const uint64_t *)(uintptr_t)args[2];
  int depth = 2 * (64 - __builtin_clzll(n | 1));
  for (uint64_t part = args[3]; part < args[3] + args[4]; part++) {
    uint64_t first = bounds[part];
    NAME(sort_part)(from + first, to + first, from + first, bounds[part + 1] - first, depth);
  }
}

uintptr_t NAME(poly_native_cut_address)(void) { return (uintptr_t)NAME(poly_native_cut); }
uintptr_t NAME(poly_native_sort_parts_address)(void) { return (uintptr_t)NAME(poly_native_sort_parts); }
uintptr_t NAME(poly_native_sort_address)(void) { return (uintptr_t)NAME(poly_native_sort); }
#undef V
#undef MOST
