#pragma once

#include <gio/gio.h>
// (This folder is beside GLib's; the pkg-config file for it has flags that SwiftPM considers unsafe.)
#include <../gio-unix-2.0/gio/gdesktopappinfo.h>

// Parts of GLib that Swift cannot call: macros that cast, and variadic functions.

/// All registered programs are of this class.
static inline GDesktopAppInfo *gio_desktop_app(gpointer info) {
    return G_IS_DESKTOP_APP_INFO(info) ? G_DESKTOP_APP_INFO(info) : NULL;
}

/// The names of a type's icon, the best first; NULL: none. Owned by the icon.
static inline const gchar *const *gio_icon_names(GIcon *icon) {
    return G_IS_THEMED_ICON(icon) ? g_themed_icon_get_names(G_THEMED_ICON(icon)) : NULL;
}

/// One entry of an `a{sv}` that is being built.
static inline void gio_add_text(GVariantBuilder *builder, const char *key, const char *value) {
    g_variant_builder_add(builder, "{sv}", key, g_variant_new_string(value));
}

static inline GVariantBuilder *gio_text_builder(void) { return g_variant_builder_new(G_VARIANT_TYPE("a{sv}")); }

/// The arguments of org.freedesktop.Application.Open; consumes the builder.
static inline GVariant *gio_open_arguments(const char *uri, GVariantBuilder *platform_data) {
    const char *uris[] = {uri, NULL};
    GVariant *value = g_variant_new("(^asa{sv})", uris, platform_data);
    g_variant_builder_unref(platform_data);
    return value;
}

/// The owner of a name on a bus; NULL: none. The caller frees it.
static inline gchar *gio_name_owner(GDBusConnection *bus, const char *name) {
    GVariant *answer = g_dbus_connection_call_sync(
        bus, "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "GetNameOwner",
        g_variant_new("(s)", name), G_VARIANT_TYPE("(s)"), G_DBUS_CALL_FLAGS_NONE, 5000, NULL, NULL);
    if (answer == NULL) return NULL;
    gchar *owner = NULL;
    g_variant_get(answer, "(s)", &owner);
    g_variant_unref(answer);
    return owner;
}

/// Whether a call has failed because no program owns the name, and none can be started.
static inline gboolean gio_is_unknown_service(const GError *error) {
    return g_error_matches(error, G_DBUS_ERROR, G_DBUS_ERROR_SERVICE_UNKNOWN) ||
           g_error_matches(error, G_DBUS_ERROR, G_DBUS_ERROR_NAME_HAS_NO_OWNER);
}

/// Calls a function when a connection has ended, on the thread whose main loop the connection was made on. `release` frees the
/// data.
static inline void gio_on_closed(
    GDBusConnection *bus, void (*ended)(gpointer data), gpointer data, void (*release)(gpointer data)) {
    // (The signal's own arguments come before the data; swapped, the data is first.)
    g_signal_connect_data(
        bus, "closed", G_CALLBACK(ended), data, (GClosureNotify)(void (*)(void))release, G_CONNECT_SWAPPED);
}
