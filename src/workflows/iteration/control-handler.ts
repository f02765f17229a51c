import { setHandler } from '@temporalio/workflow';
import { controlSignal, type Control } from '../messages';
import { sendControl } from './send-control';

export type ControlState = {
  /** What the campaign ordered last. */
  last(): Control;
  /** Tells a running child of a pause that holds now and of every order to come; returns how to leave it out again. */
  forwardTo(childId: string): () => void;
};

/** Takes what operators order of the campaign, and hands it on to the children that run. */
export function handleControl(): ControlState {
  const children = new Set<string>();
  let control: Control = { paused: false, resumes: 0, stops: 0, skips: 0 };
  setHandler(controlSignal, async (order) => {
    control = order;
    await Promise.all([...children].map((id) => sendControl(id, order)));
  });
  return {
    last: () => control,
    forwardTo(childId) {
      children.add(childId);
      if (control.paused) void sendControl(childId, control); // it came while the child was being started
      return () => children.delete(childId);
    },
  };
}
