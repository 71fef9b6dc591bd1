"""One module for each framework that is measured, all with the same functions.

    version()                   what is measured
    array(data)                 a tensor on the data of a numpy array
    program(function, arrays)   a function without arguments that computes function(ops, *tensors)
                                and returns when the result is there; cheap to call again
    training(loss, parameters, arrays, rate)  the same for one step of gradient descent, and what
                                returns the parameters as the steps so far have left them
    gradients(loss, parameters, arrays)  the gradients of the loss; a framework may lack it
    read(result)                a result as a numpy array
    exp, softmax, conv2d, …     what programs are made of, beside the operators of Python

A framework that lacks something has no such function; the work is then left out for it.
`variants` names the ways in which a framework runs; the module `peers.install` installs them.
"""
