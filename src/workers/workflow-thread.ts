import { runBundle } from '../process/run-bundle';

// The SDK starts this thread for workflow code, instead of its own file of the same content (scripts/bundle-program.mjs).
runBundle('workflow-thread', 'workflow-thread');
