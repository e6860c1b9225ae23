#include "json.h"

#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { DEEPEST = 32 };  // lists and objects within each other

// Strings ---------------------------------------------------------------------------------------

static long four_digits(const char* at) {  // hexadecimal; -1 if they are not
  char digits[5] = {0};
  for (int i = 0; i < 4; i++) {
    if (!isxdigit((unsigned char)at[i])) return -1;
    digits[i] = at[i];
  }
  return strtol(digits, NULL, 16);
}

static size_t utf8(long code, char* bytes) {
  if (code < 0x80) {
    bytes[0] = (char)code;
    return 1;
  }
  size_t size = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
  for (size_t i = size; --i; code >>= 6) bytes[i] = (char)(0x80 | (code & 0x3f));
  bytes[0] = (char)((0xf00 >> size) | code);
  return size;
}

// Past an escape, of which `at` is what follows the backslash; NULL if it is none.
static const char* past_escape(const char* at, char* bytes, size_t* size) {
  static const char names[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
  const char* name = *at ? strchr(names, *at) : NULL;
  *size = 1;
  if (name) {
    bytes[0] = meanings[name - names];
    return at + 1;
  }
  long code = *at == 'u' ? four_digits(at + 1) : -1;
  if (code < 0) return NULL;
  at += 5;
  if (code >= 0xd800 && code < 0xe000) {  // a character beyond 0xffff stands as two escapes
    long low = at[0] == '\\' && at[1] == 'u' ? four_digits(at + 2) : -1;
    if (code >= 0xdc00 || low < 0xdc00 || low > 0xdfff) return NULL;
    code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    at += 6;
  }
  *size = utf8(code, bytes);
  return at;
}

// Past a string, NULL if it is none; writes its bytes where `bytes` is not NULL.
static const char* past_string(const char* at, char* bytes, size_t* total) {
  *total = 0;
  if (*at++ != '"') return NULL;
  while (*at != '"') {
    char some[4] = {*at};
    size_t size = 1;
    if ((unsigned char)*at < 0x20) return NULL;  // a control character, or the text's end
    if (*at++ == '\\' && !(at = past_escape(at, some, &size))) return NULL;
    if (bytes) memcpy(bytes + *total, some, size);
    *total += size;
  }
  return at + 1;
}

size_t json_string(const char* string, char* bytes) {
  size_t size;
  past_string(string, bytes, &size);
  return size;
}

long json_base64(const char* string, char* bytes) {
  static const char digits[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  size_t size = json_string(string, bytes), padding = 0, count = 0;
  if (size % 4) return -1;
  while (padding < 2 && size && bytes[size - 1] == '=') size--, padding++;
  uint32_t bits = 0;
  for (size_t i = 0; i < size; i++) {  // four digits of six bits are three bytes
    const char* digit = bytes[i] ? strchr(digits, bytes[i]) : NULL;
    if (!digit) return -1;
    bits = bits << 6 | (uint32_t)(digit - digits);
    if (i % 4) bytes[count++] = (char)(bits >> (6 - 2 * (i % 4)));
  }
  return (long)count;
}

void json_write(FILE* file, const char* bytes, size_t size) {
  putc('"', file);
  for (size_t i = 0; i < size; i++) {
    unsigned char byte = (unsigned char)bytes[i];
    if (byte == '"' || byte == '\\') fprintf(file, "\\%c", byte);
    else if (byte < 0x20) fprintf(file, "\\u%04x", byte);
    else putc(byte, file);
  }
  putc('"', file);
}

// Values ----------------------------------------------------------------------------------------

static const char* past_space(const char* at) { return at + strspn(at, " \t\r\n"); }

static const char* past_word(const char* at, const char* word) {
  size_t size = strlen(word);
  return strncmp(at, word, size) ? NULL : at + size;
}

static const char* past_number(const char* at) {
  if (!isdigit((unsigned char)at[*at == '-'])) return NULL;
  size_t size = strspn(at, "+-.0123456789Ee");
  char* end;
  strtod(at, &end);
  return end == at + size ? end : NULL;
}

static const char* past_value(const char* at, int depth);

static const char* past_list(const char* at, int depth) {
  char end = *at == '{' ? '}' : ']';
  if (depth == DEEPEST) return NULL;
  at = past_space(at + 1);
  if (*at == end) return at + 1;
  for (;; at = past_space(at + 1)) {
    if (end == '}') {
      size_t size;
      at = past_string(at, NULL, &size);
      if (!at || *(at = past_space(at)) != ':') return NULL;
      at = past_space(at + 1);
    }
    at = past_value(at, depth + 1);
    if (!at) return NULL;
    at = past_space(at);
    if (*at == end) return at + 1;
    if (*at != ',') return NULL;
  }
}

static const char* past_value(const char* at, int depth) {
  size_t size;
  switch (*at) {
    case '{':
    case '[': return past_list(at, depth);
    case '"': return past_string(at, NULL, &size);
    case 't': return past_word(at, "true");
    case 'f': return past_word(at, "false");
    case 'n': return past_word(at, "null");
    case 'N': return past_word(at, "NaN");  // these two are not of JSON, but common
    case 'I': return past_word(at, "Infinity");
    default: return at[0] == '-' && at[1] == 'I' ? past_word(at + 1, "Infinity") : past_number(at);
  }
}

const char* json_begin(const char* text) {
  const char* value = past_space(text);
  const char* end = past_value(value, 0);
  return end && !*past_space(end) ? value : NULL;
}

const char* json_first(const char* list) {
  const char* at = past_space(list + 1);
  return *at == ']' || *at == '}' ? NULL : at;
}

const char* json_next(const char* element) {
  const char* at = past_space(past_value(element, 0));
  if (*at == ':') at = past_space(past_value(past_space(at + 1), 0));  // it was a key
  return *at == ',' ? past_space(at + 1) : NULL;
}

const char* json_value(const char* key) {
  return past_space(past_space(past_value(key, 0)) + 1);
}

const char* json_find(const char* object, const char* name) {
  const char* found = NULL;
  for (const char* key = *object == '{' ? json_first(object) : NULL; key; key = json_next(key)) {
    size_t size = json_string(key, NULL);
    if (size != strlen(name)) continue;
    char* bytes = malloc(size + 1);
    json_string(key, bytes);
    if (!memcmp(bytes, name, size)) found = json_value(key);
    free(bytes);
  }
  return found;
}
