/* A net of one's own in a fleet of Starling: actors fit y = 3 a - 2 b + 1 to noisy samples, each to
 * its own, and the learner applies their gradients under its staleness bound.
 *
 *   cc -I ../../api regression.c -L $lib -lstarling-seat -lstarling -lm -Wl,-rpath,$lib -o regression
 *   ./regression init                    the first weights: model.safetensors
 *   starling train regression.toml       starts ./regression as often as actors.count says
 *
 * docs/external-nets.md goes through it. */
#include <math.h>
#include <starling_seat.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kInputs = 2, kBatch = 64 };

/* The tensors: slope (2) and offset (1). */
static int WriteFirstWeights(const char* path) {
  const char header[] =
      "{\"slope\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]},"
      "\"offset\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[8,12]}}";
  const unsigned char size[8] = {sizeof(header) - 1}; /* little-endian */
  const float weights[kInputs + 1] = {0, 0, 0};
  FILE* file = fopen(path, "wb");
  if (file == NULL) {
    perror(path);
    return 1;
  }
  fwrite(size, sizeof(size), 1, file);
  fwrite(header, sizeof(header) - 1, 1, file);
  fwrite(weights, sizeof(weights), 1, file);
  return fclose(file) == 0 ? 0 : 1;
}

static double Uniform(void) { return rand() / (RAND_MAX + 1.0); }

/* The gradient of the mean squared error over a batch. Returns that error. */
static double Gradient(const float* slope, const float* offset, float* d_slope, float* d_offset) {
  double loss = 0;
  d_slope[0] = d_slope[1] = *d_offset = 0;
  for (int i = 0; i < kBatch; ++i) {
    const double a = 2 * Uniform() - 1, b = 2 * Uniform() - 1;
    const double y = 3 * a - 2 * b + 1 + 0.1 * (Uniform() - 0.5);
    const double error = slope[0] * a + slope[1] * b + *offset - y;
    loss += error * error / kBatch;
    d_slope[0] += (float)(2 * error * a / kBatch);
    d_slope[1] += (float)(2 * error * b / kBatch);
    *d_offset += (float)(2 * error / kBatch);
  }
  return loss;
}

/* Where the tensor `index` begins in the flat vector. */
static size_t FirstOf(starling_seat* seat, int index) {
  starling_tensor tensor = {.size = sizeof(tensor)};
  if (starling_seat_tensor(seat, index, &tensor) != STARLING_OK) return 0;
  return (size_t)tensor.first;
}

/* Returns the exit status. */
static int Leave(starling_seat* seat, starling_status status) {
  if (status != STARLING_OVER) fprintf(stderr, "regression: %s\n", starling_error());
  starling_seat_close(seat);
  return status == STARLING_OVER ? 0 : 1;
}

int main(int argc, char** argv) {
  if (argc == 2 && strcmp(argv[1], "init") == 0) return WriteFirstWeights("model.safetensors");
  /* 1. Join the run that has started this program, or that of the argument. */
  starling_seat* seat = NULL;
  starling_seat_facts facts = {.size = sizeof(facts)};
  starling_status status = starling_seat_open(argc > 1 ? argv[1] : NULL, NULL, &seat);
  if (status == STARLING_OK) status = starling_seat_join(seat, -1);
  if (status == STARLING_OK) status = starling_seat_get_facts(seat, &facts);
  if (status != STARLING_OK) return Leave(seat, status);
  const size_t slope = FirstOf(seat, 0), offset = FirstOf(seat, 1);
  float* weights = calloc(facts.numbers, sizeof(float));
  starling_weights held = {.size = sizeof(held)};
  srand((unsigned)facts.seed * 1000 + facts.slot);
  /* 2. A gradient for each grant, until the run is over. */
  starling_grant grant = {.size = sizeof(grant)};
  while ((status = starling_seat_next(seat, -1, &grant)) == STARLING_OK) {
    float* gradient;
    starling_push push = {.size = sizeof(push), .samples = kBatch};
    status = starling_seat_weights(seat, weights, &held);
    if (status == STARLING_OK) status = starling_seat_space(seat, &gradient);
    if (status == STARLING_OK) {
      push.value_loss =
          Gradient(weights + slope, weights + offset, gradient + slope, gradient + offset);
      status = starling_seat_push(seat, gradient, &push);
    }
    /* A learner that was lost is joined again; anything else is an error. */
    if (status != STARLING_OK && status != STARLING_LOST) break;
  }
  free(weights);
  return Leave(seat, status);
}
