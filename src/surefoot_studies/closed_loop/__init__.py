"""Networks that steer plants in continuous time, and Gymnasium's classic control as it is executed."""
