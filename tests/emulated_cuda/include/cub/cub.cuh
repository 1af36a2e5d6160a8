#pragma once

#include "device_radix_sort.cuh"
#include "device_scan.cuh"
#include "device_segmented_radix_sort.cuh"
