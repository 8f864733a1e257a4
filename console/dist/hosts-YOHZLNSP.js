import{g as a,h as b}from"./chunk-QU6I2BPQ.js";import"./chunk-L7PZYR6B.js";import"./chunk-ZBRLLO2V.js";export{b as State,a as default};
