// A MetaGraphDef is a protocol buffer: fields with a number each, whose values are numbers or
// bytes, and the bytes may be fields again. The numbers are those of tensorflow/core/protobuf/
// meta_graph.proto.
#include "signature.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  META_GRAPH_SIGNATURES = 5,
  MAP_KEY = 1,
  MAP_VALUE = 2,
  SIGNATURE_INPUTS = 1,
  SIGNATURE_OUTPUTS = 2,
  TENSOR_NAME = 1,
  TENSOR_TYPE = 2,
};

typedef struct {
  const uint8_t *at, *end;
} Bytes;

typedef struct {
  unsigned number;
  uint64_t value;  // of a number
  Bytes bytes;     // of anything longer
} Field;

static uint64_t next_number(Bytes* bytes) {  // seven bits a byte, the lowest first
  uint64_t number = 0;
  for (int shift = 0; bytes->at < bytes->end && shift < 64; shift += 7) {
    uint8_t byte = *bytes->at++;
    number |= (uint64_t)(byte & 0x7f) << shift;
    if (byte < 0x80) break;
  }
  return number;
}

static int next_field(Bytes* message, Field* field) {  // 0 at the end
  if (message->at >= message->end) return 0;
  uint64_t tag = next_number(message), size = 0;
  *field = (Field){.number = (unsigned)(tag >> 3)};
  switch (tag & 7) {
    case 0: field->value = next_number(message); break;
    case 1: size = 8; break;
    case 2: size = next_number(message); break;
    case 5: size = 4; break;
    default: return 0;
  }
  if (size > (uint64_t)(message->end - message->at)) return 0;
  field->bytes = (Bytes){message->at, message->at + size};
  message->at += size;
  return 1;
}

static Bytes bytes_of(Bytes message, unsigned number) {  // empty if there is no such field
  Bytes found = {NULL, NULL};
  for (Field field; next_field(&message, &field);)
    if (field.number == number) found = field.bytes;
  return found;
}

static uint64_t number_of(Bytes message, unsigned number) {
  uint64_t found = 0;
  for (Field field; next_field(&message, &field);)
    if (field.number == number) found = field.value;
  return found;
}

static int copy_name(Bytes bytes, char* name, size_t room) {
  size_t size = (size_t)(bytes.end - bytes.at);
  if (size >= room) return 0;
  if (size) memcpy(name, bytes.at, size);
  name[size] = 0;
  return 1;
}

static int read_argument(Bytes entry, TF_Graph* graph, Argument* argument) {
  Bytes tensor = bytes_of(entry, MAP_VALUE);
  char place[512];  // "operation:output"
  if (!copy_name(bytes_of(entry, MAP_KEY), argument->name, sizeof argument->name)) return 0;
  if (!copy_name(bytes_of(tensor, TENSOR_NAME), place, sizeof place)) return 0;
  char* colon = strrchr(place, ':');
  if (!colon) return 0;
  *colon = 0;
  argument->type = (TF_DataType)number_of(tensor, TENSOR_TYPE);
  argument->place = (TF_Output){TF_GraphOperationByName(graph, place), atoi(colon + 1)};
  return argument->place.oper != NULL;
}

static int by_name(const void* one, const void* other) {
  return strcmp(((const Argument*)one)->name, ((const Argument*)other)->name);
}

static int read_signature(Bytes signature, TF_Graph* graph, Signature* found) {
  *found = (Signature){0};
  for (Field field; next_field(&signature, &field);) {
    int is_input = field.number == SIGNATURE_INPUTS;
    if (!is_input && field.number != SIGNATURE_OUTPUTS) continue;
    int* count = is_input ? &found->inputs : &found->outputs;
    Argument* arguments = is_input ? found->input : found->output;
    if (*count == MOST_TENSORS) return 0;
    if (!read_argument(field.bytes, graph, &arguments[(*count)++])) return 0;
  }
  qsort(found->input, (size_t)found->inputs, sizeof(Argument), by_name);
  qsort(found->output, (size_t)found->outputs, sizeof(Argument), by_name);
  return 1;
}

int find_signature(const TF_Buffer* meta_graph, TF_Graph* graph, const char* name,
                   Signature* found) {
  const uint8_t* start = meta_graph->data;
  Bytes message = {start, start + meta_graph->length};
  for (Field field; next_field(&message, &field);) {
    char key[128];
    if (field.number != META_GRAPH_SIGNATURES) continue;
    if (!copy_name(bytes_of(field.bytes, MAP_KEY), key, sizeof key) || strcmp(key, name)) continue;
    return read_signature(bytes_of(field.bytes, MAP_VALUE), graph, found);
  }
  return 0;
}
