"""One module for each framework that is measured, all with the same functions.

    version()                   the version of the framework
    array(data)                 a tensor with the data of a numpy array
    program(function, arrays)   a callable without arguments that computes function(ops, *tensors)
                                and returns when the result is ready, with little overhead
    training(loss, parameters, arrays, rate)  the same for a step of gradient descent, and one that
                                returns the current parameters
    gradients(loss, parameters, arrays)  the gradients of the loss; a framework may lack it
    read(result)                a result as a numpy array
    exp, softmax, conv2d, …     the functions of programs, beside the operators of Python

A framework that lacks a function is skipped in the tasks that use it.
`variants` names the modes of a framework; the module `peers.install` installs the frameworks.
"""
