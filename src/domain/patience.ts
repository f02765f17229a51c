/** Header of an activity: how many failures it may report before it is given up, at least 1. */
export const mostFailuresHeader = 'coevolve-most-failures';

/** Tries of an activity whatever ended them: what kills its worker each time has to be given up too. */
export const mostTries = 40;
