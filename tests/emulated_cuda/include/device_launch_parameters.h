#pragma once

#include "emulated/kernel.h"
