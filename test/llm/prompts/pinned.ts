/** sha256 of each prompt's template and schema: a text that changes gets a new version and a new line here. */
export const pinned: Record<string, string> = {
  'reflection@1': 'b12f51713315b0405bd7fbe72f618018106db246538bb2478dbc8f43397ababf',
  'explore-forgetting@1': '768cd7d40a96017560e14a9378c5573b535ef36979a324aaeaaa9feaaf2a6cb1',
  'explore-boundary@1': '9920729b434dee96039f16fa39bd367f1fb484c1fafdc84ea684838eb25e2187',
  'explore-rare@1': '79d6cd6ef85354a82dd8786522e5a294ae3ab541e943ed49c73bb6c767c22787',
  'explore-unguided@1': '766be2375b76d3d63cb7fec4eecb727f25caf5c92e6d0a010369e44694946e15',
  'abstraction@1': 'd94df02d445282340cd9f25a8b094f54d0f236fede2017403f234408ef4d1b90',
  'judge@1': 'aa504f7844bf2f889dc113f90a7efe99a2de7d7848818d0f6824f52952d5ba02',
  'repair@1': 'f27889ce65952bc26393a83d793894984041bb4a42899d8d71fff1c5740d616a',
};
