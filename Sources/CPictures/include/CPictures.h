// Pictures in memory: decodes PNG (libpng) and JPEG (libturbojpeg), shrinks, and encodes PNG. The header's size is
// checked before memory is allocated.

#ifndef CPICTURES_H
#define CPICTURES_H

#include <stddef.h>
#include <stdint.h>

/// Red, green, blue and opacity, a byte each; rows from the top. Release with cpictures_free().
struct cpictures_raster {
    uint32_t width, height;
    uint8_t *pixels;
};

/// 0, or -1: neither format, damaged, or larger than `most` pixels in one direction.
int cpictures_decode(const uint8_t *bytes, size_t count, uint32_t most, struct cpictures_raster *out);

/// Shrinks to a size that is not larger in either direction; each pixel is the mean of those that it replaces. 0, or
/// -1: no memory.
int cpictures_shrink(const struct cpictures_raster *from, uint32_t width, uint32_t height, struct cpictures_raster *out);

/// A PNG file, to be released with free(3). 0, or -1.
int cpictures_encode(const struct cpictures_raster *from, uint8_t **bytes, size_t *count);

/// CRC-32 as in RFC 2083, 3.4, of two parts in sequence (zlib).
uint32_t cpictures_checksum(const uint8_t *first, size_t first_count, const uint8_t *second, size_t second_count);

void cpictures_free(struct cpictures_raster *raster);

#endif
