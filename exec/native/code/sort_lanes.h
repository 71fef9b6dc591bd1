/* Included once for each instruction set and type of numbers (sort_avx512.c, sort_avx2.c): LANES of them, each a NUMBER, are a vector V.
 *
 * A part of a row is split by a pivot into two buffers, of which one may be where it was. Up to ROWS vectors are
 * sorted in registers: each lane by a network of comparisons, then neighbouring lanes are merged into sequences of twice the length.
 *
 * What is sorted are keys, signed numbers in the order of elements: the first pass over elements makes them, and what stores sorted keys makes
 * elements again. */

enum { NAME(ROWS) = 16, NAME(SMALL) = NAME(ROWS) * LANES };

#define LEAST ((NUMBER)((uint64_t)1 << (8 * sizeof(NUMBER) - 1)))
#define MOST ((NUMBER)~LEAST)

/* How keys are made of elements: NaN becomes one NaN, bits of negative elements are flipped, then those of all. */
typedef struct {
  NUMBER negative, all, most, nan;
} NAME(form);

static NAME(form) NAME(form_of)(unsigned kind) {
  NAME(form) f = {kind & POLY_FLOATS ? MOST : 0, kind & (POLY_FLOATS | POLY_SIGNED) ? 0 : LEAST, MOST, 0};
  if (kind & POLY_DESCENDING) f.all = (NUMBER)~f.all;
  if (kind & POLY_FLOATS) f.most = INFINITE, f.nan = NAN_BITS;
  return f;
}

ALWAYS V NAME(flip_negative)(V v, const NAME(form) *f) { return XOR(v, AND(NAME(signs)(v), SET1(f->negative))); }

ALWAYS V NAME(keys)(V v, const NAME(form) *f) {
  v = NAME(where_greater)(AND(v, SET1(MOST)), SET1(f->most), SET1(f->nan), v);
  return XOR(NAME(flip_negative)(v, f), SET1(f->all));
}

ALWAYS V NAME(elements)(V v, const NAME(form) *f) { return NAME(flip_negative)(XOR(v, SET1(f->all)), f); }

ALWAYS void NAME(exchange)(V *v, int i, int j) {
  V a = v[i], b = v[j];
  v[i] = NAME(lesser)(a, b);
  v[j] = NAME(greater)(a, b);
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

/* The lesser of two in lanes without a bit of their number, the greater ones in the others. */
ALWAYS V NAME(halves)(V a, V b, int bit) { return NAME(pick)(NAME(lesser)(a, b), NAME(greater)(a, b), bit); }

/* Lanes that differ in a bit below 2 * lanes become one sequence: the second half is read from its end. */
ALWAYS void NAME(join_lanes)(V *v, int rows, int lanes) {
#pragma GCC unroll 16
  for (int i = 0; i < (rows + 1) / 2; i++) {
    int j = rows - 1 - i;
    V a = v[i], b = v[j];
    v[i] = NAME(halves)(a, NAME(across)(b, 2 * lanes - 1), lanes);
    v[j] = NAME(halves)(b, NAME(across)(a, 2 * lanes - 1), lanes);
  }
#pragma GCC unroll 4
  for (int bit = lanes / 2; bit > 0; bit /= 2) {
#pragma GCC unroll 16
    for (int i = 0; i < rows; i++) v[i] = NAME(halves)(v[i], NAME(across)(v[i], bit), bit);
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
  V w[NAME(ROWS)];
#pragma GCC unroll 4
  for (int step = 1; step < rows; step *= 2) {
#pragma GCC unroll 16
    for (int i = 0; i < rows / 2; i++) NAME(interleave)(v[i], v[i + rows / 2], &w[2 * i], &w[2 * i + 1]);
#pragma GCC unroll 16
    for (int i = 0; i < rows; i++) v[i] = w[i];
  }
}

ALWAYS void NAME(sort_vectors)(V *v, int rows) {
  NAME(sort_lanes)(v, rows);
#pragma GCC unroll 4
  for (int lanes = 1; lanes < LANES; lanes *= 2) NAME(join_lanes)(v, rows, lanes);
  NAME(transpose)(v, rows);
}

/* Sorts up to so many vectors in registers, of which keys are made, or were. */
ALWAYS void NAME(in_registers)(const NUMBER *from, NUMBER *to, uint64_t n, int rows, const NAME(form) *f, int made) {
  V v[NAME(ROWS)];
  uint64_t whole = n / LANES;
#pragma GCC unroll 16
  for (int i = 0; i < rows; i++) {
    if (i < rows / 2 || (uint64_t)i < whole) {
      v[i] = LOAD(from + i * LANES);
      if (!made) v[i] = NAME(keys)(v[i], f);
    } else if ((uint64_t)i == whole && n % LANES) {
      v[i] = NAME(load_first)(from + i * LANES, n % LANES);
      v[i] = NAME(where_first)(n % LANES, made ? v[i] : NAME(keys)(v[i], f), SET1(MOST));
    } else {
      v[i] = SET1(MOST);
    }
  }
  NAME(sort_vectors)(v, rows);
#pragma GCC unroll 16
  for (int i = 0; i < rows; i++) {
    v[i] = NAME(elements)(v[i], f);
    if (i < rows / 2 || (uint64_t)i < whole)
      STORE(to + i * LANES, v[i]);
    else if ((uint64_t)i == whole)
      NAME(store_first)(to + i * LANES, v[i], n % LANES);
  }
}

static void __attribute__((noinline)) NAME(small)(const NUMBER *from, NUMBER *to, uint64_t n, const NAME(form) *f, int made) {
  if (n <= LANES)
    NAME(in_registers)(from, to, n, 1, f, made);
  else if (n <= 2 * LANES)
    NAME(in_registers)(from, to, n, 2, f, made);
  else if (n <= 4 * LANES)
    NAME(in_registers)(from, to, n, 4, f, made);
  else if (n <= 8 * LANES)
    NAME(in_registers)(from, to, n, 8, f, made);
  else
    NAME(in_registers)(from, to, n, 16, f, made);
}

/* The middle one of the medians, lane by lane, of three or nine vectors from all over, whose places have no pattern, as elements may have. */
static NUMBER NAME(pivot)(const NUMBER *from, uint64_t n, const NAME(form) *f, int made) {
  enum { MANY = 1 << 12 };
  int chunks = n < MANY ? 3 : 9;
  V v[9];
  uint64_t seed = n, step = (n - LANES) / (unsigned)chunks;
  for (int i = 0; i < chunks; i++) v[i] = LOAD(from + step * (unsigned)i + below(step, &seed));
  for (int i = 0; !made && i < chunks; i++) v[i] = NAME(keys)(v[i], f);
  for (; chunks > 1; chunks /= 3) {
    for (int i = 0; i < chunks / 3; i++) {
      V a = v[3 * i], b = v[3 * i + 1], c = v[3 * i + 2];
      v[i] = NAME(greater)(NAME(lesser)(a, b), NAME(lesser)(NAME(greater)(a, b), c));
    }
  }
  NAME(sort_vectors)(v, 1);
  NUMBER sorted[LANES];
  STORE(sorted, v[0]);
  return sorted[LANES / 2 - 1];
}

/* Stores retire in order, and each would wait for the line that it begins: the line after the next one comes into the cache. */
ALWAYS void NAME(fetch_ahead)(NUMBER *to) { __builtin_prefetch(to + 2 * 64 / sizeof(NUMBER), 1); }

/* Writes the numbers that a mask names, and nothing from a limit on. */
ALWAYS NUMBER *NAME(append)(NUMBER *to, const NUMBER *limit, V v, unsigned m) {
  unsigned k = (unsigned)_mm_popcnt_u32(m);
  if (limit - to >= LANES)
    STORE(to, NAME(compress)(v, m));
  else
    NAME(store_first)(to, NAME(compress)(v, m), k);
  return to + k;
}

/* Splits n numbers, with a form elements: those that are less than the pivot, or with equal set not greater, go to low, the rest to high; returns how many go to
 * low. Both have room for n, as vectors are stored whole, and one may be from: as many numbers have been read as are written. */
ALWAYS uint64_t NAME(split)(const NUMBER *from, NUMBER *low, NUMBER *high, uint64_t n, NUMBER pivot, int equal, const NAME(form) *f) {
  V p = SET1(pivot);
  const NUMBER *begin = low;
#define SPLIT(v)                                                    \
  do {                                                              \
    if (f) v = NAME(keys)(v, f);                                    \
    NAME(mask) m = equal ? NAME(at_most)(v, p) : NAME(below)(v, p); \
    unsigned k = (unsigned)_mm_popcnt_u32(m);                       \
    STORE(low, NAME(compress)(v, m));                               \
    STORE(high, NAME(compress)(v, NAME(others)(m)));                \
    low += k;                                                       \
    high += LANES - k;                                              \
    NAME(fetch_ahead)(low);                                         \
    NAME(fetch_ahead)(high);                                        \
  } while (0)
  uint64_t i = 0;
  for (; i + 4 * LANES <= n; i += 4 * LANES) {
    V a = LOAD(from + i), b = LOAD(from + i + LANES);
    V c = LOAD(from + i + 2 * LANES), d = LOAD(from + i + 3 * LANES);
    SPLIT(a);
    SPLIT(b);
    SPLIT(c);
    SPLIT(d);
  }
  for (; i + LANES <= n; i += LANES) {
    V a = LOAD(from + i);
    SPLIT(a);
  }
#undef SPLIT
  unsigned there = (1u << (n - i)) - 1;
  V v = NAME(load_first)(from + i, n - i);
  if (f) v = NAME(keys)(v, f);
  unsigned m = there & (equal ? NAME(at_most)(v, p) : NAME(below)(v, p));
  low = NAME(append)(low, low, v, m);
  NAME(append)(high, high, v, there & ~m);
  return (uint64_t)(low - begin);
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

ALWAYS void NAME(store_elements)(NUMBER *to, const NUMBER *from, uint64_t n, const NAME(form) *f) {
  uint64_t i = 0;
  for (; i + LANES <= n; i += LANES) STORE(to + i, NAME(elements)(LOAD(from + i), f));
  NAME(store_first)(to + i, NAME(elements)(NAME(load_first)(from + i, n - i), f), n - i);
}

/* Sorts n elements into a buffer, by way of another one; from, which has elements or the keys made of them, is one of the two, or read only. */
static void NAME(sort_part)(const NUMBER *from, NUMBER *to, NUMBER *other, uint64_t n, int depth, const NAME(form) *f, int made) {
  while (n > NAME(SMALL)) {
    if (depth-- == 0) {
      memmove(to, from, n * sizeof(NUMBER));
      NAME(heap_sort)(to, n);
      NAME(store_elements)(to, to, n, f);
      return;
    }
    NUMBER pivot = NAME(pivot)(from, n, f, made);
    uint64_t k = made ? NAME(split)(from, to, other, n, pivot, 1, NULL) : NAME(split)(from, to, other, n, pivot, 1, f);
    made = 1;
    if (k == n) { /* the pivot is the greatest: its equals, which go behind, are sorted */
      k = NAME(split)(to, to, other, n, pivot, 0, NULL);
      NAME(store_elements)(to + k, other, n - k, f);
    } else {
      NAME(sort_part)(other, to + k, other, n - k, depth, f, 1);
      other += n - k;
    }
    n = k;
    from = to;
  }
  if (n > 0) NAME(small)(from, to, n, f, made);
}

ALWAYS int NAME(depth)(uint64_t n) { return 2 * (64 - __builtin_clzll(n | 1)); }

void NAME(poly_native_sort)(const uint64_t *args, uint64_t n, unsigned kind) {
  NUMBER *to = (NUMBER *)(uintptr_t)args[0], *other = (NUMBER *)(uintptr_t)args[4];
  const NUMBER *from = (const NUMBER *)(uintptr_t)args[1];
  NAME(form) f = NAME(form_of)(kind);
  for (uint64_t row = args[2]; row < args[2] + args[3]; row++)
    NAME(sort_part)(from + row * n, to + row * n, other, n, NAME(depth)(n), &f, (f.all | f.negative) == 0);
}

/* Elements from all over a row, sorted, say where parts end: the greatest keys of all but the last one. */
static void NAME(choose)(const NUMBER *from, uint64_t n, NUMBER *pivots, uint64_t parts, const NAME(form) *f) {
  enum { SAMPLES = 1 << 10 };
  NUMBER some[SAMPLES], other[SAMPLES];
  uint64_t seed = n, step = n / SAMPLES;
  for (uint64_t i = 0; i < SAMPLES; i++) some[i] = from[step * i + below(step, &seed)];
  NAME(sort_part)(some, some, other, SAMPLES, NAME(depth)(SAMPLES), f, 0);
  for (uint64_t i = 0; i < SAMPLES; i += LANES) STORE(some + i, NAME(keys)(LOAD(some + i), f));
  for (uint64_t i = 1; i < parts; i++) pivots[i - 1] = some[SAMPLES / parts * i];
}

/* Counts how many of n elements belong to each part, or appends their keys to the parts. */
ALWAYS void NAME(distribute)(const NUMBER *from, uint64_t n, const NUMBER *pivots, uint64_t parts, uint64_t *counts, NUMBER **ends,
                             NUMBER *const *limits, const NAME(form) *f) {
  for (uint64_t i = 0; i < n; i += LANES) {
    unsigned count = n - i < LANES ? (unsigned)(n - i) : LANES, left = (1u << count) - 1;
    V v = NAME(keys)(count == LANES ? LOAD(from + i) : NAME(load_first)(from + i, count), f);
    for (uint64_t part = 0; part < parts; part++) {
      unsigned m = part == parts - 1 ? left : left & NAME(at_most)(v, SET1(pivots[part]));
      if (ends)
        ends[part] = NAME(append)(ends[part], limits[part], v, m);
      else
        counts[part] += (unsigned)_mm_popcnt_u32(m);
      left &= ~m;
    }
  }
}

/* A step of threads that share a row, for some of its shares, or parts: args are to, other, from, table, the first one, how many. Step 0 chooses
 * pivots, 1 counts the elements of a share that belong to each part, 2 moves their keys there, in the other buffer, 3 sorts a part. */
void NAME(poly_native_sort_shared)(const uint64_t *args, uint64_t n, unsigned kind, unsigned parts, unsigned step) {
  NAME(form) f = NAME(form_of)(kind);
  NUMBER *to = (NUMBER *)(uintptr_t)args[0], *other = (NUMBER *)(uintptr_t)args[1];
  const NUMBER *from = (const NUMBER *)(uintptr_t)args[2];
  NUMBER *pivots = (NUMBER *)(uintptr_t)args[3];
  uint64_t *counts = (uint64_t *)(uintptr_t)args[3] + parts; /* of each share */
  for (uint64_t item = args[4]; item < args[4] + args[5]; item++) {
    uint64_t begin = n / parts * item, size = item + 1 < parts ? n / parts : n - begin, *own = counts + item * parts;
    if (step == 0) {
      NAME(choose)(from, n, pivots, parts, &f);
    } else if (step == 1) {
      memset(own, 0, parts * sizeof *own);
      if (parts == 2)
        NAME(distribute)(from + begin, size, pivots, 2, own, NULL, NULL, &f);
      else
        NAME(distribute)(from + begin, size, pivots, parts, own, NULL, NULL, &f);
    } else {
      NUMBER *ends[POLY_MOST_PARTS], *limits[POLY_MOST_PARTS];
      uint64_t at = 0;
      for (uint64_t part = 0; part < parts; part++) {
        begin = at;
        for (uint64_t share = 0; share < parts; share++) {
          if (share == item) ends[part] = other + at;
          at += counts[share * parts + part];
          if (share == item) limits[part] = other + at;
        }
        if (step == 3 && part == item) NAME(sort_part)(other + begin, to + begin, other + begin, at - begin, NAME(depth)(n), &f, 1);
      }
      begin = n / parts * item;
      if (step == 2 && parts == 2)
        NAME(distribute)(from + begin, size, pivots, 2, NULL, ends, limits, &f);
      else if (step == 2)
        NAME(distribute)(from + begin, size, pivots, parts, NULL, ends, limits, &f);
    }
  }
}

#undef LANES
#undef NUMBER
#undef NAME
#undef SET1
#undef INFINITE
#undef NAN_BITS
#undef LEAST
#undef MOST
