// Reads JSON (RFC 8259) without making a tree of it: a value is the place in the text where it
// begins. All but `json_begin` take values of a text that it has found to be sound.
//
//   const char* object = json_begin(text);
//   for (const char* key = json_first(object); key; key = json_next(key))
//     use(key, json_value(key));
#ifndef JSON_H
#define JSON_H

#include <stddef.h>
#include <stdio.h>

const char* json_begin(const char* text);  // the text's one value; NULL if the text is not sound

const char* json_first(const char* list);   // the first element, or key; NULL if there is none
const char* json_next(const char* element);  // the one behind it; NULL behind the last
const char* json_value(const char* key);     // what a key of an object stands for
const char* json_find(const char* object, const char* name);  // the value of a key, or NULL

// Writes the bytes of a string where `bytes` is not NULL; gives their number.
size_t json_string(const char* string, char* bytes);

// The same for a string in base64, with room for its digits; gives -1 if it is none.
long json_base64(const char* string, char* bytes);

void json_write(FILE* file, const char* bytes, size_t size);  // as a string

#endif
