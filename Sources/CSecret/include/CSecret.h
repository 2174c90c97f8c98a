// The desktop's keyring (freedesktop.org, Secret Service) through libsecret, for one kind of secret: a domain's password.
//
// The library is opened when it is needed, and only if it is there: a server has none, and Hydrant runs without. Its
// functions take lists of arguments, which Swift cannot pass.
//
// Every function may wait: for the keyring, and for a person who opens it. What goes wrong is a text in `error`, which the
// caller frees.

#ifndef CSECRET_H
#define CSECRET_H

#include <stdbool.h>

/// Whether a Secret Service answers; the first call decides about the library.
bool csecret_is_running(void);

/// For csecret_free(); NULL: there is none, or an error.
char *csecret_find(const char *domain, char **error);

/// Overwrites it first.
void csecret_free(char *secret);

/// `label`: what the keyring's own window shows.
void csecret_keep(const char *domain, const char *label, const char *secret, char **error);

void csecret_forget(const char *domain, char **error);

#endif
