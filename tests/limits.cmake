# Limits of the tests of a folder, which are those of the reference machine, scaled to this one, and the label `timing` of
# those that tests/repeat repeats: what they do depends on time, threads or processes. Included at the end of the folder's lists.
execute_process(COMMAND bash -c ". ${CMAKE_CURRENT_LIST_DIR}/limits.sh && limit 100" OUTPUT_VARIABLE percent
                OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
set(timing_tests
    ops_tests transport_tests actor_tests strategy_tests ops_tests_on_gpus transport_tests_on_gpus actor_tests_on_gpus
    strategy_tests_on_gpus emulated_cuda_tests program processes servers lost_workers network gpus faulty_plans process_faults
    coordinator_faults mpi_collectives mpi_abort kernel_fault gpu_memory step_allocations gpu_checks gpu_memory_growth
    gpu_out_of_memory examples quick_start pipeline pipeline_processes hand_built_graph two_branches)
get_property(tests DIRECTORY PROPERTY TESTS)
foreach(test ${tests})
  get_test_property(${test} TIMEOUT seconds)
  if(seconds)
    math(EXPR seconds "${seconds} * ${percent} / 100")
    set_tests_properties(${test} PROPERTIES TIMEOUT ${seconds})
  endif()
  string(REGEX REPLACE "_under_(asan|tsan)$" "" name ${test})
  if(name IN_LIST timing_tests)
    set_property(TEST ${test} APPEND PROPERTY LABELS timing)
  endif()
endforeach()
