import{g as a,h as b}from"./chunk-PBFBQ5OB.js";import"./chunk-L7PZYR6B.js";import"./chunk-ZBH4WBPP.js";export{b as State,a as default};
