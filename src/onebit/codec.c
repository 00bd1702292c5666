/* The codec of `vectorised.py`, compiled: a block goes through the processor's first cache once, and not a pass for each step.

   The same bits: sums are taken as `codec._exact_sum` says, so their order is free, and nothing may be contracted or
   reordered otherwise (-ffp-contract=off, no -ffast-math). Loops are plain, for the compiler to make vectors of; floats are
   looked at as integers, for which -fno-strict-aliasing is needed. */

#include <math.h>
#include <stdint.h>
#include <string.h>

enum { LANES = 32, LARGEST = 16384, WIDE = 16 };

/* What a compiler makes of as many registers as it takes. */
typedef float wide __attribute__((vector_size(WIDE * sizeof(float))));

static float larger_magnitude(int32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* The mean of a folded side of a block; `extreme` is the folded element of largest magnitude. */
static float mean(const float *folded, int quarter, float extreme, int64_t count)
{
    const float many = extreme * (float)quarter;
    wide highs[2] = {{0}}, lows[2] = {{0}};
    for (int at = 0; at < quarter; at += 2 * WIDE)
        for (int i = 0; i < 2; i++) {
            wide few;
            memcpy(&few, folded + at + i * WIDE, sizeof few);
            few = (few + extreme) - extreme;
            const wide upper = (few + many) - many;
            highs[i] += upper;
            lows[i] += few - upper;
        }
    float high = 0, low = 0;
    for (int i = 0; i < WIDE; i++) {
        high += highs[0][i] + highs[1][i];
        low += lows[0][i] + lows[1][i];
    }
    const double sum = (double)high + (double)low;
    return (float)(sum / (double)(count > 1 ? count : 1)) + 0.0f;
}

static int are_finite(const float *means) { return isfinite(means[0]) && isfinite(means[1]); }

/* `x` with `length` elements and then zeros into words and two means. Says whether all of it was finite. */
static int encode_block(const float *x, int block, int64_t length, uint32_t *words, float *means)
{
    float above[LARGEST / 4], below[LARGEST / 4];
    uint32_t signs[4][LARGEST / LANES];
    const int width = block / LANES, quarter = block / 4;
    const int32_t *bits = (const int32_t *)x;
    int32_t most = 0;
    uint32_t least = 0;
    for (int i = 0; i < 4; i++) memset(signs[i], 0, sizeof(uint32_t) * (size_t)width);
    for (int lane = 0; lane < LANES / 4; lane++) {
        const int begin = lane * width;
        int32_t here_most = 0;
        uint32_t here_least = 0;
        for (int w = 0; w < width; w++) {
            int32_t value[4], sign[4];
            float positive[4], negative[4];
            for (int i = 0; i < 4; i++) {
                value[i] = bits[begin + i * quarter + w];
                sign[i] = value[i] >> 31;
                signs[i][w] = signs[i][w] >> 1 | ((uint32_t)sign[i] & 0x80000000u);
                const int32_t p = value[i] & ~sign[i], n = value[i] & sign[i];
                memcpy(&positive[i], &p, 4);
                memcpy(&negative[i], &n, 4);
            }
            const float p = (positive[0] + positive[2]) + (positive[1] + positive[3]);
            const float n = (negative[0] + negative[2]) + (negative[1] + negative[3]);
            int32_t p_bits;
            uint32_t n_bits;
            memcpy(&p_bits, &p, 4);
            memcpy(&n_bits, &n, 4);
            above[begin + w] = p;
            below[begin + w] = n;
            here_most = p_bits > here_most ? p_bits : here_most;
            here_least = n_bits > here_least ? n_bits : here_least;
        }
        most = here_most > most ? here_most : most;
        least = here_least > least ? here_least : least;
    }
    int64_t negatives = 0;
    for (int w = 0; w < width; w++) {
        words[w] = signs[0][w] >> 24 | signs[1][w] >> 16 | signs[2][w] >> 8 | signs[3][w];
        negatives += __builtin_popcount(words[w]);
    }
    means[0] = mean(above, quarter, larger_magnitude(most), length - negatives);
    means[1] = mean(below, quarter, larger_magnitude((int32_t)least), negatives);
    return are_finite(means);
}

/* What is left over of `x` where its means were sent; `rest` may be `x`. */
static void leave_over(const float *x, int block, const float *means, float *rest)
{
    const int32_t *bits = (const int32_t *)x;
    int32_t level[2];
    memcpy(level, means, sizeof level);
    const int32_t either = level[0] ^ level[1], first = level[0];
    for (int at = 0; at < block; at++) {
        const int32_t chosen_bits = first ^ ((bits[at] >> 31) & either);
        float chosen;
        memcpy(&chosen, &chosen_bits, 4);
        rest[at] = x[at] - chosen;
    }
}

static void decode_block(const uint32_t *words, const float *means, int width, float *out)
{
    int32_t level[2];
    memcpy(level, means, sizeof level);
    const int32_t either = level[0] ^ level[1], first = level[0];
    int32_t *bits = (int32_t *)out;
    for (int lane = 0; lane < LANES; lane++)
        for (int w = 0; w < width; w++)
            bits[lane * width + w] = first ^ (((int32_t)(words[w] << (31 - lane)) >> 31) & either);
}

/* A run of elements and its residual; what is left over goes to `rest`. Says whether all of it was finite. */
int onebit_encode(const float *values, const float *residual, float ratio, float *rest, uint32_t *words, float *means,
                  int64_t elements, int block)
{
    float x[LARGEST], left[LARGEST];
    int all_finite = 1;
    for (int64_t at = 0; at < elements; at += block) {
        const int length = elements - at < block ? (int)(elements - at) : block;
        for (int i = 0; i < length; i++) x[i] = values[at + i] + residual[at + i] * ratio;
        if (length < block) memset(x + length, 0, sizeof(float) * (size_t)(block - length));
        all_finite &= encode_block(x, block, length, words, means);
        leave_over(x, block, means, length < block ? left : rest + at);
        if (length < block) memcpy(rest + at, left, sizeof(float) * (size_t)length);
        words += block / LANES;
        means += 2;
    }
    return all_finite;
}

/* The same run as `sources` ranks sent it, `stride` words apart: averaged, and encoded again with the owner's residual.

   A block that is not finite leaves its residual as it was: it would be lost for all steps to come. */
void onebit_average(const uint32_t *received, const float *received_means, int64_t stride, int sources, float share,
                    float *residual, float ratio, uint32_t *words, float *means, int64_t elements, int block)
{
    float x[LARGEST], one[LARGEST], left[LARGEST];
    for (int64_t at = 0; at < elements; at += block) {
        const int length = elements - at < block ? (int)(elements - at) : block;
        decode_block(received, received_means, block / LANES, x);
        for (int source = 1; source < sources; source++) {
            decode_block(received + source * stride, received_means + source * stride, block / LANES, one);
            for (int i = 0; i < block; i++) x[i] += one[i];
        }
        for (int i = 0; i < length; i++) x[i] = x[i] * share + residual[at + i] * ratio;
        if (length < block) memset(x + length, 0, sizeof(float) * (size_t)(block - length));
        if (!encode_block(x, block, length, words, means)) {
            for (int i = 0; i < length; i++) residual[at + i] *= ratio;
        } else {
            leave_over(x, block, means, length < block ? left : residual + at);
            if (length < block) memcpy(residual + at, left, sizeof(float) * (size_t)length);
        }
        received += block / LANES;
        received_means += 2;
        words += block / LANES;
        means += 2;
    }
}

/* The values of a run. */
void onebit_decode(const uint32_t *words, const float *means, float *out, int64_t elements, int block)
{
    float last[LARGEST];
    for (int64_t at = 0; at < elements; at += block) {
        const int length = elements - at < block ? (int)(elements - at) : block;
        decode_block(words, means, block / LANES, length < block ? last : out + at);
        if (length < block) memcpy(out + at, last, sizeof(float) * (size_t)length);
        words += block / LANES;
        means += 2;
    }
}
