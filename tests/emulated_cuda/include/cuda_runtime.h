#pragma once

#include <cassert>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <math.h>
#include <stdlib.h>

#include "cuda_runtime_api.h"
#include "emulated/atomics.h"
#include "emulated/device_math.h"
#include "emulated/kernel.h"
#include "emulated/launch.h"
#include "emulated/warp.h"
