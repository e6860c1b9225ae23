// The signatures of a SavedModel: which tensors of its graph are a function's in- and outputs.
#ifndef SIGNATURE_H
#define SIGNATURE_H

#include "tensorflow/c/c_api.h"

enum { MOST_TENSORS = 32 };

typedef struct {
  char name[128];
  TF_DataType type;
  TF_Output place;  // in the graph
} Argument;

typedef struct {
  int inputs, outputs;
  Argument input[MOST_TENSORS], output[MOST_TENSORS];
} Signature;

// Finds a signature in a serialized MetaGraphDef; gives 0 if there is none of this name, or one
// that does not fit (too many tensors, or others than dense ones).
int find_signature(const TF_Buffer* meta_graph, TF_Graph* graph, const char* name, Signature* found);

#endif
