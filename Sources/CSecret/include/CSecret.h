// The desktop's keyring (freedesktop.org, Secret Service) through libsecret, for one kind of secret: a domain's password.
//
// The library is loaded on demand, and only if it is installed: a server has none, and Hydrant runs without it. Its
// functions are variadic, so Swift cannot call them.
//
// Every function may block: for the keyring, and for a person who unlocks it. Errors are texts in `error`, which the
// caller frees.

#ifndef CSECRET_H
#define CSECRET_H

#include <stdbool.h>

/// Whether a Secret Service answers; the first call decides whether the library is used.
bool csecret_is_running(void);

/// Release with csecret_free(); NULL: none, or an error.
char *csecret_find(const char *domain, char **error);

/// Overwrites the secret first.
void csecret_free(char *secret);

/// `label`: shown in the keyring's own window.
void csecret_keep(const char *domain, const char *label, const char *secret, char **error);

void csecret_forget(const char *domain, char **error);

#endif
