#!/usr/bin/env node
import { runBundle } from '../process/run-bundle';

// `node dist/cli/program.js` runs the same program from its separate modules.
const command = process.argv[2] ?? '--help';
runBundle('program', command === 'worker' ? 'worker' : /^(-.*|help|completion)$/.test(command) ? 'help' : 'client');
