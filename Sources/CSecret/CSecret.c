#include "CSecret.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

// As declared by libsecret 0.20 and GLib 2; both keep these stable (the library's name stays libsecret-1.so.0).
typedef struct {
    unsigned int domain;
    int code;
    char *message;
} Error;

typedef struct {
    const char *name;
    int flags;
    struct {
        const char *name;
        int type;
    } attributes[32];
    int reserved;
    void *reserved1, *reserved2, *reserved3, *reserved4, *reserved5, *reserved6, *reserved7;
} Schema;

static const Schema schema = {.name = "hydrant.domain", .attributes = {{"domain", 0}}};

static struct {
    void *(*service)(int flags, void *cancellable, Error **error);
    char *(*find)(const Schema *schema, void *cancellable, Error **error, ...);
    int (*keep)(
        const Schema *schema, const char *collection, const char *label, const char *secret, void *cancellable,
        Error **error, ...);
    int (*clear)(const Schema *schema, void *cancellable, Error **error, ...);
    void (*free_secret)(char *secret);
    void (*free_error)(Error *error);
    void (*unref)(void *object);
} library;

static bool open_library(void) {
    static int state;  // 0: not tried yet; opening twice gives the same answer
    if (__atomic_load_n(&state, __ATOMIC_ACQUIRE) == 0) {
        void *handle = dlopen("libsecret-1.so.0", RTLD_NOW | RTLD_GLOBAL);
        bool complete = handle != NULL;
        if (complete) {
            library.service = dlsym(handle, "secret_service_get_sync");
            library.find = dlsym(handle, "secret_password_lookup_sync");
            library.keep = dlsym(handle, "secret_password_store_sync");
            library.clear = dlsym(handle, "secret_password_clear_sync");
            library.free_secret = dlsym(handle, "secret_password_free");
            // From the libraries that it loads.
            library.free_error = dlsym(handle, "g_error_free");
            library.unref = dlsym(handle, "g_object_unref");
            complete = library.service && library.find && library.keep && library.clear && library.free_secret &&
                       library.free_error && library.unref;
        }
        __atomic_store_n(&state, complete ? 1 : -1, __ATOMIC_RELEASE);
    }
    return __atomic_load_n(&state, __ATOMIC_ACQUIRE) == 1;
}

static void take(Error *error, char **out) {
    if (error == NULL) return;
    *out = strdup(error->message);
    library.free_error(error);
}

static bool opened(char **error) {
    *error = NULL;
    if (open_library()) return true;
    *error = strdup("libsecret-1.so.0 is not installed");
    return false;
}

bool csecret_is_running(void) {
    if (!open_library()) return false;
    Error *error = NULL;
    void *service = library.service(1 << 1, NULL, &error);  // SECRET_SERVICE_OPEN_SESSION
    if (error != NULL) library.free_error(error);
    if (service != NULL) library.unref(service);
    return service != NULL;
}

char *csecret_find(const char *domain, char **error) {
    if (!opened(error)) return NULL;
    Error *failure = NULL;
    char *secret = library.find(&schema, NULL, &failure, "domain", domain, NULL);
    take(failure, error);
    return secret;
}

void csecret_free(char *secret) {
    if (secret != NULL) library.free_secret(secret);
}

void csecret_keep(const char *domain, const char *label, const char *secret, char **error) {
    if (!opened(error)) return;
    Error *failure = NULL;
    library.keep(&schema, "default", label, secret, NULL, &failure, "domain", domain, NULL);
    take(failure, error);
}

void csecret_forget(const char *domain, char **error) {
    if (!opened(error)) return;
    Error *failure = NULL;
    library.clear(&schema, NULL, &failure, "domain", domain, NULL);
    take(failure, error);
}
