// libzip's public interface, unchanged. Only the provider of ZIP archives may import this.
#ifndef HYDRANT_CZIP_SHIM_H
#define HYDRANT_CZIP_SHIM_H

// Without this, the C library's types would be defined here a second time.
#if defined(__clang__) && __has_feature(modules)
#pragma clang module import SwiftGlibc
#endif

#include <zip.h>

#endif
