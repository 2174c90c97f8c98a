#include "CPictures.h"

#include <png.h>
#include <stdlib.h>
#include <string.h>
#include <turbojpeg.h>
#include <zlib.h>

static const uint8_t png_signature[] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};

static int make(uint32_t width, uint32_t height, uint32_t most, struct cpictures_raster *out) {
    if (width == 0 || height == 0 || width > most || height > most) return -1;
    out->width = width;
    out->height = height;
    // (Zeroed, so that parts that a damaged picture leaves out never show earlier memory.)
    out->pixels = calloc((size_t)width * height, 4);
    return out->pixels ? 0 : -1;
}

static int decode_png(const uint8_t *bytes, size_t count, uint32_t most, struct cpictures_raster *out) {
    png_image image;
    memset(&image, 0, sizeof image);
    image.version = PNG_IMAGE_VERSION;
    if (!png_image_begin_read_from_memory(&image, bytes, count)) return -1;
    image.format = PNG_FORMAT_RGBA;
    if (make(image.width, image.height, most, out) != 0) {
        png_image_free(&image);
        return -1;
    }
    if (png_image_finish_read(&image, NULL, out->pixels, 0, NULL)) return 0;
    cpictures_free(out);
    return -1;
}

static int decode_jpeg(const uint8_t *bytes, size_t count, uint32_t most, struct cpictures_raster *out) {
    tjhandle handle = tjInitDecompress();
    if (!handle) return -1;
    int width = 0, height = 0, sampling = 0, colours = 0, result = -1;
    if (tjDecompressHeader3(handle, bytes, count, &width, &height, &sampling, &colours) == 0 && width > 0 && height > 0
        && make((uint32_t)width, (uint32_t)height, most, out) == 0) {
        // A picture of many scans takes for ever: thumbnails have few (TJFLAG_LIMITSCANS, where the library has it).
        int flags = 0;
#ifdef TJFLAG_LIMITSCANS
        flags |= TJFLAG_LIMITSCANS;
#endif
        result = tjDecompress2(handle, bytes, count, out->pixels, width, 0, height, TJPF_RGBA, flags);
        // A warning: show the picture if it is complete. The library returns the same after a warning and an error.
        // Rows are written from the top, and each pixel is opaque (turbojpeg.h, TJPF_RGBA): the last pixel tells
        // whether all were written.
        int is_whole = out->pixels[(size_t)width * height * 4 - 1] == 0xff;
        if (result != 0 && is_whole && tjGetErrorCode(handle) == TJERR_WARNING) result = 0;
        if (result != 0) cpictures_free(out);
    }
    tjDestroy(handle);
    return result == 0 ? 0 : -1;
}

int cpictures_decode(const uint8_t *bytes, size_t count, uint32_t most, struct cpictures_raster *out) {
    memset(out, 0, sizeof *out);
    if (count >= sizeof png_signature && memcmp(bytes, png_signature, sizeof png_signature) == 0) {
        return decode_png(bytes, count, most, out);
    }
    if (count >= 2 && bytes[0] == 0xff && bytes[1] == 0xd8) return decode_jpeg(bytes, count, most, out);
    return -1;
}

/// The edge in `from`, in 1/256 of a pixel, of pixel `index` of `to`.
static uint64_t edge(uint32_t index, uint32_t from, uint32_t to) { return ((uint64_t)index * from * 256) / to; }

/// Reduces one row, or one column, of `count` pixels `step` bytes apart, to `to` pixels. Colours are weighted by their
/// opacity.
static void shrink_line(
    const uint8_t *from, uint32_t count, size_t step, uint8_t *out, uint32_t to, size_t out_step) {
    for (uint32_t index = 0; index < to; index++) {
        uint64_t begin = edge(index, count, to), end = edge(index + 1, count, to);
        uint64_t sum[3] = {0, 0, 0}, opacity = 0, weight = 0;
        for (uint64_t place = begin; place < end;) {
            uint64_t next = (place / 256 + 1) * 256;
            uint64_t part = (next < end ? next : end) - place;
            const uint8_t *pixel = from + (size_t)(place / 256) * step;
            uint64_t share = part * pixel[3];
            for (int colour = 0; colour < 3; colour++) sum[colour] += share * pixel[colour];
            opacity += share;
            weight += part;
            place += part;
        }
        uint8_t *pixel = out + (size_t)index * out_step;
        for (int colour = 0; colour < 3; colour++) {
            pixel[colour] = opacity ? (uint8_t)((sum[colour] + opacity / 2) / opacity) : 0;
        }
        pixel[3] = weight ? (uint8_t)((opacity + weight / 2) / weight) : 0;
    }
}

int cpictures_shrink(
    const struct cpictures_raster *from, uint32_t width, uint32_t height, struct cpictures_raster *out) {
    memset(out, 0, sizeof *out);
    struct cpictures_raster wide = {0};
    if (width > from->width || height > from->height) return -1;
    if (make(width, from->height, UINT32_MAX, &wide) != 0) return -1;
    if (make(width, height, UINT32_MAX, out) != 0) {
        cpictures_free(&wide);
        return -1;
    }
    for (uint32_t row = 0; row < from->height; row++) {
        shrink_line(
            from->pixels + (size_t)row * from->width * 4, from->width, 4, wide.pixels + (size_t)row * width * 4, width, 4);
    }
    for (uint32_t column = 0; column < width; column++) {
        shrink_line(
            wide.pixels + (size_t)column * 4, from->height, (size_t)width * 4, out->pixels + (size_t)column * 4, height,
            (size_t)width * 4);
    }
    cpictures_free(&wide);
    return 0;
}

int cpictures_encode(const struct cpictures_raster *from, uint8_t **bytes, size_t *count) {
    png_image image;
    memset(&image, 0, sizeof image);
    image.version = PNG_IMAGE_VERSION;
    image.width = from->width;
    image.height = from->height;
    image.format = PNG_FORMAT_RGBA;
    png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(image);
    *bytes = malloc(size);
    if (!*bytes) return -1;
    if (!png_image_write_to_memory(&image, *bytes, &size, 0, from->pixels, 0, NULL)) {
        free(*bytes);
        *bytes = NULL;
        return -1;
    }
    *count = size;
    return 0;
}

void cpictures_free(struct cpictures_raster *raster) {
    free(raster->pixels);
    raster->pixels = NULL;
}

uint32_t cpictures_checksum(const uint8_t *first, size_t first_count, const uint8_t *second, size_t second_count) {
    uLong sum = crc32_z(crc32_z(0, NULL, 0), first, first_count);
    return (uint32_t)(second_count ? crc32_z(sum, second, second_count) : sum);
}
