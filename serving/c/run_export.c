// Answers requests with an exported model, by TensorFlow's C API: no Python in the process.
//
//   run_export [-x] [-t THREADS] MODEL < REQUESTS > ANSWERS
//
// A request is a line of JSON, as TensorFlow Serving's REST interface takes it in column form:
//
//   {"signature_name": "n_best", "inputs": {"text": ["A dog runs.", {"b64": "/w=="}]}}
//
// Its answer is a line: {"outputs": {name: values}} or {"error": "..."}, in the requests' order.
// See README.md.
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "json.h"
#include "signature.h"
#include "tensorflow/c/tf_tstring.h"

#ifndef OP_LIBRARIES
#define OP_LIBRARIES ""  // paths with colons between them; build.sh knows those of tensorflow-text
#endif

// A function of C++, by the name that it has for the linker. TensorFlow Serving calls it at its
// start, unless it is told --xla_cpu_compilation_enabled: from then on what must be compiled fails.
void disable_xla_compilation(void) __asm__("_ZN10tensorflow21DisableXlaCompilationEv");

typedef struct {
  TF_Graph* graph;
  TF_Session* session;
  TF_Buffer* meta_graph;
} Model;

static _Noreturn void die(const char* what, const char* why) {
  fprintf(stderr, "run_export: %s: %s\n", what, why);
  exit(1);
}

static void check(TF_Status* status, const char* what) {
  if (TF_GetCode(status) != TF_OK) die(what, TF_Message(status));
}

static int fail(TF_Status* status, const char* format, ...) {  // gives 0
  char message[400];
  va_list values;
  va_start(values, format);
  vsnprintf(message, sizeof message, format, values);
  va_end(values);
  TF_SetStatus(status, TF_INVALID_ARGUMENT, message);
  return 0;
}

// The model -------------------------------------------------------------------------------------

static void load_op_libraries(TF_Status* status) {
  char* paths = strdup(OP_LIBRARIES);
  char* rest = NULL;
  for (char* path = strtok_r(paths, ":", &rest); path; path = strtok_r(NULL, ":", &rest)) {
    TF_LoadLibrary(path, status);
    check(status, path);
  }
  free(paths);
}

static Model load_model(const char* folder) {
  TF_Status* status = TF_NewStatus();
  TF_SessionOptions* options = TF_NewSessionOptions();
  const char* tags[] = {"serve"};
  Model model = {.graph = TF_NewGraph(), .meta_graph = TF_NewBuffer()};
  load_op_libraries(status);
  model.session = TF_LoadSessionFromSavedModel(options, NULL, folder, tags, 1, model.graph,
                                               model.meta_graph, status);
  check(status, folder);
  TF_DeleteSessionOptions(options);
  TF_DeleteStatus(status);
  return model;
}

static void close_model(Model model) {
  TF_Status* status = TF_NewStatus();
  TF_CloseSession(model.session, status);
  TF_DeleteSession(model.session, status);
  TF_DeleteGraph(model.graph);
  TF_DeleteBuffer(model.meta_graph);
  TF_DeleteStatus(status);
}

// Inputs ----------------------------------------------------------------------------------------

static void free_strings(void* data, size_t size, void* unused) {
  (void)unused;
  TF_TString* strings = data;
  for (size_t i = 0; i < size / sizeof *strings; i++) TF_StringDealloc(&strings[i]);
  free(data);
}

static TF_Tensor* new_tensor(TF_DataType type, int rank, int64_t count) {  // [count], or []
  if (type != TF_STRING)
    return TF_AllocateTensor(type, &count, rank, (size_t)count * TF_DataTypeSize(type));
  size_t size = (size_t)count * sizeof(TF_TString);
  TF_TString* strings = malloc(size + 1);  // an empty tensor has a place, too
  for (int64_t i = 0; i < count; i++) TF_StringInit(&strings[i]);
  return TF_NewTensor(type, &count, rank, strings, size, free_strings, NULL);
}

static int set_string(TF_TString* string, const char* value) {  // "text", or {"b64": "..."}
  const char* encoded = *value == '{' ? json_find(value, "b64") : NULL;
  const char* written = encoded ? encoded : value;
  if (*written != '"') return 0;
  char* bytes = malloc(json_string(written, NULL) + 1);
  long size = encoded ? json_base64(encoded, bytes) : (long)json_string(written, bytes);
  if (size >= 0) TF_StringCopy(string, bytes, (size_t)size);
  free(bytes);
  return size >= 0;
}

static int set_integer(int64_t* place, const char* value, int64_t least, int64_t most) {
  char* end;
  errno = 0;
  *place = strtoll(value, &end, 10);  // 1.0 and 1e3 are no integers
  return end != value && !strchr(".eE", *end) && !errno && *place >= least && *place <= most;
}

static int set_element(TF_DataType type, void* data, int64_t index, const char* value) {
  int64_t whole;
  switch (type) {
    case TF_STRING: return set_string((TF_TString*)data + index, value);
    case TF_INT32:
      if (!set_integer(&whole, value, INT32_MIN, INT32_MAX)) return 0;
      ((int32_t*)data)[index] = (int32_t)whole;
      return 1;
    case TF_INT64: return set_integer((int64_t*)data + index, value, INT64_MIN, INT64_MAX);
    case TF_FLOAT:
      if (!strchr("-0123456789IN", *value)) return 0;
      ((float*)data)[index] = strtof(value, NULL);
      return 1;
    case TF_BOOL:
      if (*value != 't' && *value != 'f') return 0;
      ((uint8_t*)data)[index] = *value == 't';
      return 1;
    default: return 0;
  }
}

static TF_Tensor* input_tensor(const Argument* input, const char* value, TF_Status* status) {
  int rank = *value == '[';
  int64_t count = !rank, index = 0;
  const char* element = rank ? json_first(value) : value;
  for (const char* e = rank ? element : NULL; e; e = json_next(e)) count++;
  TF_Tensor* tensor = new_tensor(input->type, rank, count);
  for (; index < count; index++, element = json_next(element)) {
    if (set_element(input->type, TF_TensorData(tensor), index, element)) continue;
    fail(status, "input \"%s\": value %" PRId64 " is not of the type that it needs, or no flat "
         "list", input->name, index);
    TF_DeleteTensor(tensor);
    return NULL;
  }
  return tensor;
}

// One tensor for each input; 0 if one is wrong.
static int input_tensors(const Signature* signature, const char* given, TF_Tensor** tensors,
                         TF_Status* status) {
  int keys = 0, found = 0;
  for (const char* key = *given == '{' ? json_first(given) : NULL; key; key = json_next(key)) keys++;
  for (int i = 0; i < signature->inputs; i++) {
    const Argument* input = &signature->input[i];
    // A lone input may stand without its name.
    const char* value =
        *given == '{' ? json_find(given, input->name) : signature->inputs == 1 ? given : NULL;
    if (!value) return fail(status, "input \"%s\" is missing", input->name);
    found += *given == '{';
    tensors[i] = input_tensor(input, value, status);
    if (!tensors[i]) return 0;
  }
  if (keys != found) return fail(status, "an input is unknown to the signature, or given twice");
  return 1;
}

// Outputs ---------------------------------------------------------------------------------------

static void write_float(FILE* file, float number) {
  char text[32];
  snprintf(text, sizeof text, "%.9g", number);
  if (isnan(number)) fprintf(file, "NaN");
  else if (isinf(number)) fprintf(file, number > 0 ? "Infinity" : "-Infinity");
  else fprintf(file, strpbrk(text, ".e") ? "%s" : "%s.0", text);
}

static void write_element(FILE* file, TF_Tensor* tensor, int64_t index) {
  const void* data = TF_TensorData(tensor);
  switch (TF_TensorType(tensor)) {
    case TF_STRING: {
      const TF_TString* string = (const TF_TString*)data + index;
      json_write(file, TF_StringGetDataPointer(string), TF_StringGetSize(string));
      break;
    }
    case TF_FLOAT: write_float(file, ((const float*)data)[index]); break;
    case TF_INT32: fprintf(file, "%" PRId32, ((const int32_t*)data)[index]); break;
    case TF_INT64: fprintf(file, "%" PRId64, ((const int64_t*)data)[index]); break;
    case TF_BOOL: fprintf(file, ((const uint8_t*)data)[index] ? "true" : "false"); break;
    default: fprintf(file, "null");  // `answer` has refused it
  }
}

static void write_tensor(FILE* file, TF_Tensor* tensor, int dimension, int64_t* index) {
  if (dimension == TF_NumDims(tensor)) {
    write_element(file, tensor, (*index)++);
    return;
  }
  putc('[', file);
  for (int64_t i = 0; i < TF_Dim(tensor, dimension); i++) {
    if (i) fprintf(file, ", ");
    write_tensor(file, tensor, dimension + 1, index);
  }
  putc(']', file);
}

static void write_outputs(FILE* file, const Signature* signature, TF_Tensor** tensors) {
  fprintf(file, "{\"outputs\": {");
  for (int i = 0; i < signature->outputs; i++) {
    int64_t index = 0;
    fprintf(file, "%s\"%s\": ", i ? ", " : "", signature->output[i].name);
    write_tensor(file, tensors[i], 0, &index);
  }
  fprintf(file, "}}\n");
}

// Requests --------------------------------------------------------------------------------------

static int find_asked(const Model* model, const char* request, Signature* signature,
                      TF_Status* status) {
  char name[128] = "serving_default";
  const char* asked = json_find(request, "signature_name");
  if (asked) {
    if (*asked != '"') return fail(status, "signature_name must be a string");
    char* bytes = calloc(1, strlen(asked));  // the quotation marks leave room for the end
    json_string(asked, bytes);
    snprintf(name, sizeof name, "%s", bytes);
    free(bytes);
  }
  if (find_signature(model->meta_graph, model->graph, name, signature)) return 1;
  return fail(status, "the model has no signature \"%s\"", name);
}

static void answer(const Model* model, const char* line, FILE* file, TF_Status* status) {
  Signature signature;
  TF_Tensor *inputs[MOST_TENSORS] = {0}, *outputs[MOST_TENSORS] = {0};
  TF_Output in[MOST_TENSORS], out[MOST_TENSORS];
  const char* request = json_begin(line);
  const char* given = request ? json_find(request, "inputs") : NULL;
  if (!given) {
    fail(status, "a request must be an object of JSON with \"inputs\"");
    return;
  }
  if (!find_asked(model, request, &signature, status)) return;
  for (int i = 0; i < signature.inputs; i++) in[i] = signature.input[i].place;
  for (int i = 0; i < signature.outputs; i++) out[i] = signature.output[i].place;
  if (input_tensors(&signature, given, inputs, status))
    TF_SessionRun(model->session, NULL, in, inputs, signature.inputs, out, outputs,
                  signature.outputs, NULL, 0, NULL, status);
  if (TF_GetCode(status) == TF_OK) write_outputs(file, &signature, outputs);
  for (int i = 0; i < MOST_TENSORS; i++) {
    if (inputs[i]) TF_DeleteTensor(inputs[i]);
    if (outputs[i]) TF_DeleteTensor(outputs[i]);
  }
}

// What threads share: they take turns at reading lines, and at writing answers in the same order.
typedef struct {
  const Model* model;
  pthread_mutex_t reading, writing;
  pthread_cond_t written;
  long lines_read, answers_written, errors;
} Queue;

static void write_answer(Queue* queue, long number, const char* text, size_t size, int is_error) {
  pthread_mutex_lock(&queue->writing);
  while (queue->answers_written != number) pthread_cond_wait(&queue->written, &queue->writing);
  fwrite(text, 1, size, stdout);
  if (fflush(stdout)) die("standard output", strerror(errno));
  queue->answers_written++;
  queue->errors += is_error;
  pthread_cond_broadcast(&queue->written);
  pthread_mutex_unlock(&queue->writing);
}

static void* answer_all(void* shared) {
  Queue* queue = shared;
  char *line = NULL, *text = NULL;
  size_t room = 0, size = 0;
  for (;;) {
    pthread_mutex_lock(&queue->reading);
    ssize_t length = getline(&line, &room, stdin);
    long number = length < 0 ? -1 : queue->lines_read++;
    pthread_mutex_unlock(&queue->reading);
    if (number < 0) break;
    TF_Status* status = TF_NewStatus();
    FILE* file = open_memstream(&text, &size);
    if (strlen(line) < (size_t)length) fail(status, "a line must not hold the character NUL");
    else answer(queue->model, line, file, status);
    int is_error = TF_GetCode(status) != TF_OK;
    if (is_error) {
      fprintf(file, "{\"error\": ");
      json_write(file, TF_Message(status), strlen(TF_Message(status)));
      fprintf(file, "}\n");
    }
    fclose(file);
    write_answer(queue, number, text, size, is_error);
    free(text);
    TF_DeleteStatus(status);
  }
  free(line);
  return NULL;
}

int main(int count, char** arguments) {
  int threads = 1, with_xla = 0;
  for (int option; (option = getopt(count, arguments, "xt:")) != -1;) {
    if (option == 'x') with_xla = 1;
    else if (option == 't') threads = atoi(optarg);
    else threads = 0;
  }
  if (optind != count - 1 || threads < 1 || threads > 64)
    die("usage", "run_export [-x] [-t THREADS, 1 to 64] MODEL < REQUESTS > ANSWERS");
  if (!with_xla) disable_xla_compilation();
  Model model = load_model(arguments[optind]);
  Queue queue = {.model = &model,
                 .reading = PTHREAD_MUTEX_INITIALIZER,
                 .writing = PTHREAD_MUTEX_INITIALIZER,
                 .written = PTHREAD_COND_INITIALIZER};
  pthread_t running[64];
  for (int i = 0; i < threads; i++) {
    int error = pthread_create(&running[i], NULL, answer_all, &queue);
    if (error) die("thread", strerror(error));
  }
  for (int i = 0; i < threads; i++) pthread_join(running[i], NULL);
  close_model(model);
  return queue.errors ? 2 : 0;
}
