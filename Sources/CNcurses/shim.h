// ncurses (ncurses(3)) for Swift: its macros as functions, and none of its globals, which only the drawing thread may
// touch.
#ifndef HYDRANT_CNCURSES_H
#define HYDRANT_CNCURSES_H

#ifndef NCURSES_WIDECHAR
#define NCURSES_WIDECHAR 1
#endif
#include <locale.h>
#include <ncurses.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <wchar.h>

int wcwidth(wchar_t c);

enum { TERMINAL_PLAIN = 0, TERMINAL_REVERSE = 1, TERMINAL_DIM = 2, TERMINAL_BOLD = 4 };

/// The kinds of keys besides characters.
enum {
    TERMINAL_NOTHING = 0, TERMINAL_CHARACTER, TERMINAL_UP, TERMINAL_DOWN, TERMINAL_LEFT, TERMINAL_RIGHT,
    TERMINAL_PAGE_UP, TERMINAL_PAGE_DOWN, TERMINAL_HOME, TERMINAL_END, TERMINAL_BACKSPACE, TERMINAL_ENTER,
    TERMINAL_F2, TERMINAL_RESIZED, TERMINAL_OTHER
};

/// Takes over a terminal; null if that is impossible. Return it with terminal_end.
static inline void *terminal_begin(FILE *in, FILE *out) {
    setlocale(LC_CTYPE, "");
    SCREEN *screen = newterm(NULL, out, in);
    if (screen == NULL) return NULL;
    set_term(screen);
    raw();
    noecho();
    nonl();
    keypad(stdscr, TRUE);
    set_escdelay(25);
    curs_set(0);
    return screen;
}

static inline void terminal_end(void *screen) {
    endwin();
    delscreen((SCREEN *)screen);
}

static inline void terminal_size(int *rows, int *columns) {
    *rows = getmaxy(stdscr);
    *columns = getmaxx(stdscr);
}

static inline void terminal_erase(void) { erase(); }
static inline void terminal_refresh(void) { refresh(); }

static inline void terminal_write(int row, int column, const char *text, int style) {
    attr_t attributes = A_NORMAL;
    if (style & TERMINAL_REVERSE) attributes |= A_REVERSE;
    if (style & TERMINAL_DIM) attributes |= A_DIM;
    if (style & TERMINAL_BOLD) attributes |= A_BOLD;
    attrset(attributes);
    mvaddstr(row, column, text);
    attrset(A_NORMAL);
}

/// Shows the cursor there; row -1: hides it.
static inline void terminal_cursor(int row, int column) {
    if (row < 0) {
        curs_set(0);
    } else {
        curs_set(1);
        move(row, column);
    }
}

/// Waits at most so many milliseconds for a key. A character goes to `character`.
static inline int terminal_key(int milliseconds, unsigned int *character) {
    wint_t code = 0;
    timeout(milliseconds);
    int kind = get_wch(&code);
    if (kind == ERR) return TERMINAL_NOTHING;
    if (kind == OK) {
        if (code == '\r' || code == '\n') return TERMINAL_ENTER;
        if (code == 127 || code == 8) return TERMINAL_BACKSPACE;
        *character = code;
        return TERMINAL_CHARACTER;
    }
    switch (code) {
    case KEY_UP: return TERMINAL_UP;
    case KEY_DOWN: return TERMINAL_DOWN;
    case KEY_LEFT: return TERMINAL_LEFT;
    case KEY_RIGHT: return TERMINAL_RIGHT;
    case KEY_PPAGE: return TERMINAL_PAGE_UP;
    case KEY_NPAGE: return TERMINAL_PAGE_DOWN;
    case KEY_HOME: return TERMINAL_HOME;
    case KEY_END: return TERMINAL_END;
    case KEY_BACKSPACE: return TERMINAL_BACKSPACE;
    case KEY_ENTER: return TERMINAL_ENTER;
    case KEY_F(2): return TERMINAL_F2;
    case KEY_RESIZE: return TERMINAL_RESIZED;
    default: return TERMINAL_OTHER;
    }
}

/// The columns of a character: 0, 1 or 2; unprintable: -1.
static inline int terminal_width(unsigned int character) { return wcwidth((wchar_t)character); }

#endif
