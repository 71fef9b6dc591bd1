/* What the sorts by vectors of either size include. */
#include "sort.h"

#include <immintrin.h>
#include <string.h>

#define ALWAYS static inline __attribute__((always_inline))

/* A pseudo-random number below n, which has at most 40 bits. */
ALWAYS uint64_t below(uint64_t n, uint64_t *seed) {
  *seed = *seed * 6364136223846793005u + 1442695040888963407u;
  return (*seed >> 40) * n >> 24;
}
