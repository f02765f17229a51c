/** SHA-256 of each prompt's template and schema. A changed text needs a new version and a new line here. */
export const pinned: Record<string, string> = {
  'reflection@2': 'e11d77f258d3613a86d4180ef35be0bd18cad475e78195915b95f3a16f8f3b42',
  'explore-forgetting@1': '52932d0c41c55c061ea9b8b37d89c04b88862a1f1e234f21a3931c0e168b5c81',
  'explore-boundary@1': '29b08670fb9a71504716482c0e9c859cf1ce28f7b344ae2d45e85962b50068c4',
  'explore-rare@1': '8ffcc4deaf5ac8c15f3ce3bb31467f2c0508812836f5b84358f3adbc0d3e9889',
  'explore-unguided@1': '1838fa361e236f3ba971c17b0dca89cb2b1a81d68228c3197681bf35f08a8b69',
  'abstraction@1': 'd94df02d445282340cd9f25a8b094f54d0f236fede2017403f234408ef4d1b90',
  'judge@1': 'aa504f7844bf2f889dc113f90a7efe99a2de7d7848818d0f6824f52952d5ba02',
  'judge@2': '7fae0462f0221c6a74e2657c45058e192b89fbe7b5467f235610470e57a79d36',
  'judge-attempt@1': 'd295446d6c91170efee2f1b8de1384846c503c682b8cfcb899f653eca21cca0f',
  'solve@1': 'cb25bf930b819f35decba72e635ee4eef59379e4f18b6f1200494a0ab9291ed8',
  'repair@1': 'f27889ce65952bc26393a83d793894984041bb4a42899d8d71fff1c5740d616a',
};
