// Pictures in memory: PNG (libpng) and JPEG (libturbojpeg) to pixels, smaller, and to PNG. What a picture says of itself is
// checked before room is made for it.

#ifndef CPICTURES_H
#define CPICTURES_H

#include <stddef.h>
#include <stdint.h>

/// Red, green, blue and opacity, a byte each; rows from the top. For cpictures_free().
struct cpictures_raster {
    uint32_t width, height;
    uint8_t *pixels;
};

/// 0, or -1: it is neither, is damaged, or is larger than `most` pixels in one direction.
int cpictures_decode(const uint8_t *bytes, size_t count, uint32_t most, struct cpictures_raster *out);

/// To a size that is not larger in either direction; each pixel is the mean of those that it stands for. 0, or -1: no memory.
int cpictures_shrink(const struct cpictures_raster *from, uint32_t width, uint32_t height, struct cpictures_raster *out);

/// A PNG file, which is for free(3). 0, or -1.
int cpictures_encode(const struct cpictures_raster *from, uint8_t **bytes, size_t *count);

/// CRC-32 as in RFC 2083, 3.4, of two parts after one another (zlib).
uint32_t cpictures_checksum(const uint8_t *first, size_t first_count, const uint8_t *second, size_t second_count);

void cpictures_free(struct cpictures_raster *raster);

#endif
